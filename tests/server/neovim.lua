-- An editing session in headless Neovim (0.7 or newer). The log has what the editor itself holds after each step: its diagnostics,
-- buffers, code actions and lenses. Started by test_neovim.py in the folder of a project; COMMAND is the server, as JSON.

local command = vim.fn.json_decode(vim.env.COMMAND)
local log = assert(io.open(vim.env.LOG, "w"))
local PATIENCE = 30000 -- milliseconds that a step may take on a busy machine
local SEVERITIES = { "error", "warning", "info", "hint" }

local function say(...)
  log:write(string.format(...), "\n")
  log:flush()
end

local client = vim.lsp.start_client({ name = "cfglint", cmd = command, root_dir = vim.fn.getcwd() })

local function wait_for(what, condition)
  if not vim.wait(PATIENCE, condition, 20) then
    say("TIMEOUT: %s", what)
    vim.cmd("cquit")
  end
end

-- Files

local function open(name)
  vim.cmd("edit " .. name)
  local buffer = vim.fn.bufnr(name)
  vim.lsp.buf_attach_client(buffer, client)
  return buffer
end

local function type_keys(keys)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(keys, true, false, true), "tx", false)
end

local function lines(buffer)
  return vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
end

-- What the editor shows

local function shown(buffer)
  local found = {}
  for _, each in ipairs(vim.diagnostic.get(buffer)) do
    local text = lines(buffer)[each.lnum + 1] or ""
    local marked = text:sub(each.col + 1, each.end_lnum == each.lnum and each.end_col or -1)
    local code = each.code or each.user_data.lsp.code
    local message = each.message:gsub("\n.*", "")
    table.insert(found, string.format("%d: %s %s [%s] %s", each.lnum + 1, SEVERITIES[each.severity], code, marked, message))
  end
  table.sort(found)
  return found
end

local function say_shown(buffer)
  local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buffer), ":t")
  local found = shown(buffer)
  if #found == 0 then
    say("  %s: no diagnostics", name)
  end
  for _, each in ipairs(found) do
    say("  %s:%s", name, each)
  end
end

local function wait_until_shown(buffer, pattern)
  wait_for("a diagnostic with " .. pattern, function()
    return table.concat(shown(buffer), "\n"):find(pattern, 1, true) ~= nil
  end)
end

local function wait_until_gone(buffer, pattern)
  wait_for("no diagnostic with " .. pattern, function()
    return table.concat(shown(buffer), "\n"):find(pattern, 1, true) == nil
  end)
end

-- Requests, with the parameters that Neovim's own commands make

local function ask(buffer, method, parameters)
  local answers, problem = vim.lsp.buf_request_sync(buffer, method, parameters, PATIENCE)
  local answer = answers and answers[client]
  if problem or not answer or answer.error then
    say("FAILED: %s: %s", method, problem or vim.inspect(answer))
    vim.cmd("cquit")
  end
  return answer.result
end

local function at_cursor()
  return vim.lsp.util.make_position_params(0, "utf-16")
end

local function actions(kind)
  local parameters = vim.lsp.util.make_range_params(0, "utf-16")
  parameters.context = { diagnostics = vim.lsp.diagnostic.get_line_diagnostics(), only = { kind } }
  return ask(0, "textDocument/codeAction", parameters) or {}
end

local function apply(kind)
  for _, action in ipairs(actions(kind)) do
    say("  apply: %s", action.title)
    vim.lsp.util.apply_workspace_edit(action.edit, "utf-16")
    return
  end
  say("  apply: no %s", kind)
end

local function search(text)
  vim.fn.cursor(1, 1)
  vim.fn.search(text, "c")
end

-- The session

say("neovim %s", vim.fn.matchstr(vim.fn.execute("version"), "NVIM v\\S*"))

say("> open ds.json, then train.yaml (unsaved), and type `learning_rate: 2e-5`")
local ds = open("ds.json")
local train = open("train.yaml")
type_keys("Golearning_rate: 2e-5<Esc>")
wait_until_shown(train, "2e-5")
say_shown(train)
say_shown(ds)

say("> quick fix")
search("2e-5")
apply("quickfix")
wait_until_gone(train, "2e-5")
say("  line %d: %s", vim.fn.line("."), vim.fn.getline("."))
say_shown(train)

say("> misspell a key")
type_keys("Gowarmpu_steps: 10<Esc>")
wait_until_shown(train, "warmpu_steps")
say_shown(train)

say("> fix all")
apply("source.fixAll")
vim.wait(1000, function() return #shown(train) == 0 end)
say("  line %d: %s", vim.fn.line("$"), vim.fn.getline("$"))
say_shown(train)

say("> break the run from ds.json, which is not saved")
vim.cmd("buffer " .. ds)
search("\"auto\"")
type_keys("ci\"99<Esc>2hx2lx")
