import { COMMANDS, COMMON_FLAGS, commandOf, type Flag } from "./commands.ts";

/** Shells with a completion, and `kubectl`: the program that kubectl asks for completions of a plugin. */
export const SHELLS = ["bash", "zsh", "fish", "powershell", "kubectl"] as const;
export type Shell = (typeof SHELLS)[number];

/** What may stand at the end of a command line. */
export interface Offers {
  readonly words: readonly string[];
  /** Kind of objects with names that may stand there, too. */
  readonly names: "cluster" | "member" | "user" | "backup" | "namespace" | "context" | undefined;
}

const NONE: Offers = { words: [], names: undefined };
const OF_FLAGS: Readonly<Record<string, Offers["names"]>> = {
  namespace: "namespace",
  context: "context",
  from: "backup",
};

/** Offers for the last of these words, which may be empty. Words before it are complete. */
export function offersFor(words: readonly string[]): Offers {
  const [last, before] = [words.at(-1) ?? "", words.slice(0, -1)];
  if (before.includes("--")) return NONE;
  const command = before.map(commandOf).find((each) => each !== undefined);
  const flags = [...COMMON_FLAGS, ...(command?.flags ?? [])];
  const open = flags.find((flag) => flag.takes === "text" && spellings(flag).includes(before.at(-1) ?? ""));
  if (open !== undefined) return { words: open.oneOf ?? [], names: OF_FLAGS[open.name] };
  const [flag, value] = last.split("=");
  const assigned = value === undefined ? undefined : flags.find((each) => `--${each.name}` === flag);
  if (assigned !== undefined)
    return { words: (assigned.oneOf ?? []).map((each) => `${flag}=${each}`), names: undefined };
  if (last.startsWith("-")) return { words: flags.map(({ name }) => `--${name}`), names: undefined };
  if (command === undefined) return { words: COMMANDS.map(({ name }) => name), names: undefined };
  const typed = positionals(before, flags).length - 1;
  const subject = command.arguments[typed]?.subject;
  if (subject === "operator") return { words: ["operator"], names: "cluster" };
  if (subject === "shell") return { words: SHELLS, names: undefined };
  return { words: [], names: subject === "text" ? undefined : subject };
}

function spellings({ name, short }: Flag): readonly string[] {
  return short === undefined ? [`--${name}`] : [`--${name}`, `-${short}`];
}

/** Words that are neither flags nor their values. */
function positionals(words: readonly string[], flags: readonly Flag[]): readonly string[] {
  const takers = flags.filter(({ takes }) => takes === "text").flatMap(spellings);
  return words.filter((word, n) => !word.startsWith("-") && !takers.includes(words[n - 1] ?? ""));
}

/** Script that makes the shell ask `kubectl-etcd __complete`. */
export function completionScript(shell: Shell): string {
  return SCRIPTS[shell];
}

const SCRIPTS: Readonly<Record<Shell, string>> = {
  kubectl: `#!/bin/sh
# Save this as kubectl_complete-etcd beside kubectl-etcd, and make it executable: then kubectl completes "kubectl etcd".
kubectl-etcd __complete "$@"
echo ":4"
`,
  bash: `# To load it: source <(kubectl etcd completion bash)
_kubectl_etcd() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(kubectl-etcd __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _kubectl_etcd kubectl-etcd
`,
  zsh: `#compdef kubectl-etcd
# To load it: source <(kubectl etcd completion zsh)
_kubectl_etcd() {
  local -a found
  found=("\${(@f)$(kubectl-etcd __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -- $found
}
compdef _kubectl_etcd kubectl-etcd
`,
  fish: `# To load it: kubectl etcd completion fish | source
complete -c kubectl-etcd -f -a '(kubectl-etcd __complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
  powershell: `# To load it: kubectl etcd completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName kubectl-etcd -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { "$_" })
  if ($wordToComplete -eq '') { $words += '""' }
  kubectl-etcd __complete @words 2>$null | Where-Object { $_ -like "$wordToComplete*" } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
`,
};
