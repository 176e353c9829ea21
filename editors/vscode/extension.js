"use strict";

// Starts `cfglint server` for the configs and scripts of a workspace. Everything else is done by the server.

const { workspace, commands, window } = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

const LANGUAGES = ["yaml", "json", "jsonc", "shellscript", "makefile", "python"];
const WATCHED = "**/{*.yaml,*.yml,*.json,*.sh,*.py,*.ipynb,cfglint.toml,pyproject.toml,requirements*.txt}";

let client;

async function activate(context) {
  context.subscriptions.push(
    commands.registerCommand("cfglint.restart", restart),
    workspace.onDidChangeConfiguration((event) => (event.affectsConfiguration("cfglint") ? restart() : undefined)),
  );
  await start();
}

async function start() {
  const settings = workspace.getConfiguration("cfglint");
  const command = settings.get("command");
  const server = { command, args: settings.get("arguments"), transport: TransportKind.stdio };
  client = new LanguageClient("cfglint", "cfglint", server, {
    documentSelector: [...LANGUAGES.map((language) => ({ scheme: "file", language })), { notebook: "jupyter-notebook", language: "python" }],
    synchronize: { fileEvents: workspace.createFileSystemWatcher(WATCHED) },
  });
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    window.showErrorMessage(`cfglint: \`${command}\` could not be started (${error.message}). Set cfglint.command to its path.`);
  }
}

async function restart() {
  await deactivate();
  await start();
}

async function deactivate() {
  const running = client;
  client = undefined;
  await running?.stop();
}

module.exports = { activate, deactivate };
