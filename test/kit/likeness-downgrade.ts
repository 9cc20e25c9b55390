import type { CallOptions, DowngradeAction } from "#etcd/client.ts";
import type { EndpointStatus } from "#etcd/types.ts";
import { type EtcdVersionText, neverAborted } from "./etcd.ts";
import type { Diary } from "./likeness.ts";
import type { EtcdSide } from "./likeness-etcd.ts";

const OPTIONS: CallOptions = { signal: neverAborted, deadlineMs: 5_000 };
/** For calls that cannot succeed. */
const SHORT: CallOptions = { signal: neverAborted, deadlineMs: 1_500 };
const ALL = ["m0", "m1", "m2"];
/** Half a minute of real time. */
const MOST_WAITS = 150;

/** A cluster of this release goes back to the minor before by etcd's own downgrade, and forth again. */
export function downgradeStory(from: EtcdVersionText, to: EtcdVersionText) {
  return {
    name: `from ${from} to ${to} and back`,
    members: 3 as const,
    tell: (telling: Telling) => tell(telling, from, to),
  };
}

interface Telling {
  readonly etcd: EtcdSide;
  readonly diary: Diary;
}

async function tell({ etcd, diary }: Telling, from: EtcdVersionText, to: EtcdVersionText): Promise<void> {
  const { client } = etcd;
  const [high, low, lower] = [minor(from), minor(to), minor(to, -1)];
  const ask = (line: string, action: DowngradeAction, target = "", at = "m0", options = OPTIONS) =>
    diary.note(line, () => client.downgrade(etcd.endpoint(at), action, target, options));
  // Who leads after so many restarts is chance.
  const status = async (line: string, of = "m0") => {
    const { version, downgradeTo, storageVersion } = await client.status(etcd.endpoint(of), OPTIONS);
    diary.write(line, { version, downgradeTo, storageVersion });
  };
  const restart = async (line: string, name: string, version: EtcdVersionText) => {
    await etcd.kill(name);
    await etcd.settled();
    diary.write(line, await etcd.start(name, "fenced", version));
    await etcd.settled();
  };
  const isIn = (format: string) => (seen: EndpointStatus) => seen.storageVersion === `${format}.0`;

  await untilAll(etcd, ALL, isIn(high));
  await status("before it is asked for");
  await ask("nothing is cancelled", "CANCEL");
  await ask("by two at once", "VALIDATE", lower);
  await ask("by none", "VALIDATE", high);
  await ask("by one", "VALIDATE", low);
  await status("a question changes nothing");
  await restart("one goes back before it is enabled", "m2", to);
  diary.write("and comes up as it was", await etcd.start("m2", "fenced", from));
  await etcd.settled();

  await ask("it is enabled at another", "ENABLE", low, "m1");
  await ask("and again", "ENABLE", low);
  await ask("and asked about again", "VALIDATE", low);
  await untilAll(etcd, ALL, isIn(low));
  await status("while it is enabled");
  await etcd.spare("m3");
  const added = await diary.need("a learner is added meanwhile", () => addedPatiently(etcd));
  for (const version of [from, to])
    diary.write(`nobody is let in with ${version}`, await etcd.start("m3", "joining", version));
  await diary.note("it is taken away", () => client.removeMember(etcd.endpoint("m0"), added.member.id, OPTIONS));

  await restart("one goes back", "m2", to);
  await status("what it says", "m2");
  await ask("it is cancelled at the one that has gone back", "CANCEL", "", "m2", SHORT);
  await untilAll(etcd, ["m0", "m1"], ({ downgradeTo }) => downgradeTo === undefined);
  await status("once it is cancelled");
  await ask("it is asked about once it is cancelled", "VALIDATE", low);
  await restart("another one follows", "m1", to);
  await restart("and the last", "m0", to);
  await diary.note("the list of all", () => client.memberList(etcd.endpoint("m0"), { ...OPTIONS, linearizable: true }));
  for (const name of ALL) await restart(`${name} goes forth again`, name, from);
  await untilAll(etcd, ALL, isIn(high));
  await status("in the end");
}

/** Such as 3.5 for 3.5.35. */
function minor(version: EtcdVersionText, more = 0): string {
  const [major, number] = version.split(".");
  return `${major}.${Number(number) + more}`;
}

/** Waits until these members say so of themselves. */
async function untilAll(
  etcd: EtcdSide,
  names: readonly string[],
  holds: (status: EndpointStatus) => boolean,
): Promise<void> {
  for (let waits = 0; waits < MOST_WAITS; waits++) {
    const seen = await Promise.all(names.map((name) => etcd.client.status(etcd.endpoint(name), OPTIONS)));
    if (seen.every(holds)) return;
    await etcd.wait();
  }
  throw new Error(`${names} do not say so`);
}

/** Members that have restarted must have been connected for a while. */
async function addedPatiently(etcd: EtcdSide) {
  for (let tries = 1; ; tries++) {
    try {
      return await etcd.client.addLearner(etcd.endpoint("m0"), [etcd.peerUrl("m3")], OPTIONS);
    } catch (thrown) {
      if (tries === MOST_WAITS) throw thrown;
      await etcd.wait();
    }
  }
}
