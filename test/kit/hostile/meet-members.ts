import { type ChildEnd, runChild } from "./child.ts";
import type { MemberOrder, Met } from "./member-client.ts";
import { type RawScript, rawServer } from "./raw-http2.ts";

/** A hostile member and its name. */
export interface Hostile extends Omit<MemberOrder, "port"> {
  readonly script: RawScript;
}

export interface Meeting {
  readonly end: ChildEnd;
  readonly met: readonly Met[];
  /** The last started call, with the end of stderr; undefined when the process ended normally. */
  readonly endedAt: string | undefined;
}

/** Flags of the image, and one that lets the process start garbage collections. */
const FLAGS = ["--max-semi-space-size=1", "--heap-growing-percent=50", "--expose-gc"];

/**
 * Calls hostile members from a child process, one after another.
 * @param client the program; by default the client of this work tree
 */
export async function meetMembers(
  hostile: readonly Hostile[],
  deadlineMs: number,
  client = `${import.meta.dirname}/member-client.ts`,
): Promise<Meeting> {
  const servers = await Promise.all(hostile.map(({ script }) => rawServer(script)));
  try {
    const members = hostile.map(({ name, call, times }, at) => ({ name, call, times, port: servers[at]?.port }));
    const end = await runChild(client, [JSON.stringify({ deadlineMs, members })], { flags: FLAGS, timeoutMs: 280_000 });
    const lines = end.stdout.split("\n").filter((line) => line !== "");
    const all = lines.map((line) => JSON.parse(line) as Met | { readonly begins: string });
    const last = all.at(-1);
    return {
      end,
      met: all.filter((each) => "failures" in each),
      endedAt: last !== undefined && "begins" in last ? `${last.begins}: ${end.stderr.slice(0, 2_000)}` : undefined,
    };
  } finally {
    for (const server of servers) server.close();
  }
}
