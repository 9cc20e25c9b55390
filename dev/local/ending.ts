import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { ancestorsOf, isAlive, type ProcessId } from "../proc.ts";
import { kill } from "./processes.ts";

// Why a note?
//   A killed process loses its environment, network and cgroup before it has ended. It still closes its files, and the
//   first process of a node waits for all others. In that time it cannot be recognized as one of ours. So the processes
//   that are being ended are noted in a file. When this command is killed, the next one waits for them.

/**
 * Ends all processes that `look` shows, until it shows none, and those that an earlier call has noted.
 * @param note file with the processes that are being ended, for the next call
 */
export async function endAll(look: () => readonly ProcessId[], note: string): Promise<void> {
  // `down` may run inside the instance: then it must not end itself, nor the shell in which it was typed.
  const spared = [process.pid, ...ancestorsOf(process.pid)];
  let noted = existsSync(note) ? (JSON.parse(readFileSync(note, "utf8")) as ProcessId[]) : [];
  // Programs of a dying node may start further ones: repeat until there are none.
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
