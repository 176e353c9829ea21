"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const form = document.querySelector(".filters");
  const choices = () => [...form.querySelectorAll("select")].filter((each) => each.value);

  function filter() {
    const severities = [...form.querySelectorAll("input:checked")].map((each) => each.value);
    const shown = data.findings.filter(
      (each) => severities.includes(each.severity) && choices().every((select) => select.value - 1 === each[select.name]),
    );
    const ids = new Set(shown.map((each) => each.id));
    const runs = new Set(shown.map((each) => each.run));
    const all = shown.length === data.findings.length;
    data.findings.forEach((each) => (document.getElementById(each.id).hidden = !ids.has(each.id)));
    data.runs.forEach((run, place) => {
      const gone = !all && !runs.has(place);
      document.querySelectorAll(`#${run}, [data-run="${run}"]`).forEach((each) => (each.hidden = gone));
    });
    form.querySelector("output").textContent = `${shown.length} of ${data.findings.length} findings`;
  }

  function reveal() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    if (form && target.closest("[hidden]")) {
      form.reset();
      filter();
    }
    for (let each = target; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
    target.scrollIntoView();
  }

  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach((each) => (each.open = true));
  });
  addEventListener("afterprint", () => closed.forEach((each) => (each.open = false)));
  addEventListener("hashchange", reveal);
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link && link.hash === location.hash) reveal();
  });
  if (form) {
    form.hidden = false;
    form.addEventListener("input", filter);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(filter));
    filter();
  }
  if (location.hash) reveal();
})();
