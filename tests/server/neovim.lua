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

local status -- of the server, when it has ended
local client = vim.lsp.start_client({
  name = "cfglint",
  cmd = command,
  root_dir = vim.fn.getcwd(),
  on_exit = function(code) status = code end,
})

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

local function say_line(number)
  say("  line %d: %s", vim.fn.line(number), vim.fn.getline(number))
end

local function search(text)
  vim.fn.cursor(1, 1)
  vim.fn.search(text, "c")
end

-- The session

say(vim.fn.matchstr(vim.fn.execute("version"), "NVIM v[0-9.]*"))

say("> open ds.json and train.yaml, and type `learning_rate: 2e-5`, unsaved")
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
say_line(".")
say_shown(train)

say("> type a misspelt key")
type_keys("Gowarmpu_steps: 10<Esc>")
wait_until_shown(train, "warmpu_steps")
say_shown(train)
apply("quickfix")
wait_until_gone(train, "warmpu_steps")
say_line(".")

say("> two more rates, then fix all")
type_keys("Goweight_decay: 1e-2<CR>adam_epsilon: 1e-8<Esc>")
wait_until_shown(train, "adam_epsilon")
apply("source.fixAll")
wait_until_gone(train, "TYP200")
vim.fn.cursor(vim.fn.line("$") - 1, 1)
say_line(".")
say_line("$")

say("> hover over gradient_accumulation_steps in ds.json")
vim.cmd("buffer " .. ds)
search("gradient_accumulation_steps")
local page = ask(ds, "textDocument/hover", at_cursor()).contents.value
say("  %s", vim.split(page, "\n")[1])
say("  %s", page:match("`gradient_accumulation_steps`[^\n]*"))

say("> go to the definition of its \"auto\"")
vim.lsp.buf.definition()
wait_for("the trainer file", function() return vim.api.nvim_get_current_buf() == train end)
say_line(".")

say("> code lens of train.yaml")
for _, lens in ipairs(ask(train, "textDocument/codeLens", { textDocument = vim.lsp.util.make_text_document_params(train) })) do
  say("  line %d: %s", lens.range.start.line + 1, lens.command.title)
end

say("> add a scheduler to ds.json, unsaved: the diagnostic appears in train.yaml")
vim.cmd("buffer " .. ds)
search("zero_optimization")
type_keys('O"scheduler": {"type": "WarmupLR", "params": {}},<Esc>')
wait_until_shown(train, "lr_scheduler_type")
say_shown(train)
type_keys("u")
wait_until_gone(train, "lr_scheduler_type")
say("  after undo:")
say_shown(train)

say("> complete `gradient_ch`, then a value of optim")
vim.cmd("buffer " .. train)
vim.bo.omnifunc = "v:lua.vim.lsp.omnifunc"
type_keys("Gogradient_ch")
local function completed(what)
  local column = vim.fn.col(".")
  local parameters = at_cursor()
  parameters.position.character = column
  local found = {}
  for _, item in ipairs(ask(train, "textDocument/completion", parameters)) do
    if item.label:find(what, 1, true) == 1 then
      table.insert(found, string.format("%s (%s)", item.label, item.detail))
    end
  end
  return found
end
for _, each in ipairs(completed("gradient_ch")) do
  say("  %s", each)
end
type_keys("ccoptim: adamw_t<Esc>")
say("  %s", table.concat(completed("adamw_t"), ", "))
type_keys("dd")

say("> open launch.sh")
local script = open("launch.sh")
wait_until_shown(script, "learning_rte")
say_shown(script)

vim.lsp.stop_client(client)
wait_for("the end of the server", function() return status ~= nil end)
say("> the server ends with status %d", status)
vim.cmd("qall!")
