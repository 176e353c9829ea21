"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const form = document.querySelector(".filters");
  const choices = () => [...form.querySelectorAll("select")].filter((each) => each.value);

  function has(id, words) {
    const text = words.length ? document.getElementById(id).textContent.toLowerCase() : "";
    return words.every((word) => text.includes(word));
  }

  function titled(run, words) {
    const text = document.querySelector(`#${run} > h2`)?.textContent.toLowerCase() ?? "";
    return words.every((word) => text.includes(word));
  }

  function filter() {
    const boxes = [...form.querySelectorAll('input[type="checkbox"]')];
    const severities = boxes.filter((each) => each.checked).map((each) => each.value);
    const words = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = data.findings.filter(
      (each) =>
        (!boxes.length || severities.includes(each.severity)) &&
        choices().every((select) => select.value - 1 === each[select.name]) &&
        has(each.id, words),
    );
    const ids = new Set(shown.map((each) => each.id));
    const runs = new Set(shown.map((each) => each.run));
    const all = shown.length === data.findings.length && !words.length;
    const narrowed = shown.length < data.findings.length && !words.length;
    data.findings.forEach((each) => (document.getElementById(each.id).hidden = !ids.has(each.id)));
    data.runs.forEach((run, place) => {
      const gone = !all && !runs.has(place) && (narrowed || !titled(run, words));
      document.querySelectorAll(`#${run}, [data-run="${run}"]`).forEach((each) => (each.hidden = gone));
    });
    document.querySelectorAll(".groups > li").forEach((group) => {
      const links = [...group.querySelectorAll("a")];
      group.hidden = !links.some((link) => ids.has(link.hash.slice(1)));
    });
    document.querySelectorAll("details.folded").forEach((each) => {
      if (words.length) each.open = true;
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
