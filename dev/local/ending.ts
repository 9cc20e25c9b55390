import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { ancestorsOf, isAlive, type ProcessId } from "../proc.ts";
import { kill } from "./processes.ts";

// Why a note? A process that was killed loses its environment, its network and its cgroup a while before it is gone: it still closes its
// files, and the first process of a node waits for all others. Whoever looks then does not know it for one of ours. So it is
// written down whom we end, and the next command waits for them when this one is killed itself.

/**
 * Ends everybody whom `look` shows, until it shows nobody, and everybody who was being ended when an earlier call was killed.
 * @param note file that tells the next call about them
 */
export async function endAll(look: () => readonly ProcessId[], note: string): Promise<void> {
  // Whoever takes an instance down from inside it goes on, as does the shell in which that was typed.
  const spared = [process.pid, ...ancestorsOf(process.pid)];
  let noted = existsSync(note) ? (JSON.parse(readFileSync(note, "utf8")) as ProcessId[]) : [];
  // Programs of a dying node may start one more while we look: look until there is none.
  for (;;) {
    const all = new Map([...noted.filter(isAlive), ...look()].map((each) => [each.pid, each]));
    noted = [...all.values()].filter(({ pid }) => !spared.includes(pid));
    if (noted.length === 0) return;
    write(note, noted);
    await kill(noted);
  }
}

function write(note: string, processes: readonly ProcessId[]): void {
  mkdirSync(dirname(note), { recursive: true });
  writeFileSync(`${note}.draft`, JSON.stringify(processes));
  renameSync(`${note}.draft`, note);
}
