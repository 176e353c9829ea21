"use strict";

// The extension without an editor: `vscode` and the client are stubs that record what they are given.

const assert = require("node:assert/strict");
const fs = require("node:fs");
const Module = require("node:module");
const path = require("node:path");
const test = require("node:test");

const manifest = JSON.parse(fs.readFileSync(path.join(__dirname, "..", "package.json"), "utf8"));

function withStubs(settings, failure) {
  const seen = { clients: [], messages: [], commands: {}, listeners: [] };
  class LanguageClient {
    constructor(id, name, server, options) {
      Object.assign(this, { id, name, server, options, running: false });
      seen.clients.push(this);
    }
    async start() {
      if (failure) throw new Error(failure);
      this.running = true;
    }
    async stop() {
      this.running = false;
    }
  }
  const stubs = {
    vscode: {
      workspace: {
        getConfiguration: (section) => ({ get: (key) => settings[`${section}.${key}`] }),
        createFileSystemWatcher: (glob) => ({ glob }),
        onDidChangeConfiguration: (listener) => seen.listeners.push(listener),
      },
      commands: { registerCommand: (name, run) => (seen.commands[name] = run) },
      window: { showErrorMessage: (text) => seen.messages.push(text) },
    },
    "vscode-languageclient/node": { LanguageClient, TransportKind: { stdio: 0 } },
  };
  const load = Module._load;
  Module._load = (name, ...rest) => stubs[name] ?? load(name, ...rest);
  const file = require.resolve("../extension.js");
  delete require.cache[file];
  const extension = require(file);
  Module._load = load;
  return { extension, seen };
}

const defaults = Object.fromEntries(
  Object.entries(manifest.contributes.configuration.properties).map(([name, { default: value }]) => [name, value]),
);

test("the manifest is consistent", () => {
  assert.ok(fs.existsSync(path.join(__dirname, "..", manifest.main)));
  const { extension, seen } = withStubs(defaults);
  return extension.activate({ subscriptions: [] }).then(() => {
    assert.deepEqual(Object.keys(seen.commands), manifest.contributes.commands.map(({ command }) => command));
    const selected = seen.clients[0].options.documentSelector;
    const activated = manifest.activationEvents.map((event) => event.split(":")[1]);
    assert.deepEqual(activated, selected.filter(({ scheme }) => scheme === "file").map(({ language }) => language));
    assert.deepEqual(selected.filter(({ notebook }) => notebook), [{ notebook: "jupyter-notebook", language: "python" }]);
  });
});

test("the server is started over standard input and output", async () => {
  const { extension, seen } = withStubs({ ...defaults, "cfglint.command": "/opt/bin/cfglint" });
  await extension.activate({ subscriptions: [] });
  assert.deepEqual(seen.clients[0].server, { command: "/opt/bin/cfglint", args: ["server"], transport: 0 });
  assert.ok(seen.clients[0].running);
  await extension.deactivate();
  assert.ok(!seen.clients[0].running);
});

test("changed settings start it again", async () => {
  const settings = { ...defaults };
  const { extension, seen } = withStubs(settings);
  await extension.activate({ subscriptions: [] });
  settings["cfglint.arguments"] = ["server", "--gpus", "8"];
  await seen.listeners[0]({ affectsConfiguration: (section) => section === "cfglint" });
  assert.deepEqual(seen.clients.map(({ running }) => running), [false, true]);
  assert.deepEqual(seen.clients[1].server.args, ["server", "--gpus", "8"]);
});

test("a command that is missing is reported with the setting to change", async () => {
  const { extension, seen } = withStubs(defaults, "spawn cfglint ENOENT");
  await extension.activate({ subscriptions: [] });
  assert.match(seen.messages[0], /could not be started \(spawn cfglint ENOENT\)\. Set cfglint\.command/);
  await extension.deactivate();
});
