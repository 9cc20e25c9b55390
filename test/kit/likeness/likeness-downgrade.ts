import type { CallOptions, DowngradeAction } from "#etcd/client.ts";
import type { EndpointStatus } from "#etcd/types.ts";
import { type EtcdVersionText, neverAborted } from "#kit/etcd/etcd.ts";
import type { Diary } from "./likeness.ts";
import type { EtcdSide } from "./likeness-etcd.ts";

const OPTIONS: CallOptions = { signal: neverAborted, deadlineMs: 5_000 };
/** For calls that cannot succeed. */
const SHORT: CallOptions = { signal: neverAborted, deadlineMs: 1_500 };
const ALL = ["m0", "m1", "m2"];
/** Half a minute of real time. */
const MOST_WAITS = 150;

/** A cluster of this release is downgraded to the previous minor with etcd's own downgrade, and upgraded again. */
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
  // The leader after so many restarts is random, so its ID is left out.
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
  await status("before any request");
  await ask("cancel without a downgrade", "CANCEL");
  await ask("validate a downgrade by two minors", "VALIDATE", lower);
  await ask("validate a downgrade to the same minor", "VALIDATE", high);
  await ask("validate a downgrade by one minor", "VALIDATE", low);
  await status("validation changes nothing");
  await restart("a member starts with the older release before the downgrade is enabled", "m2", to);
  diary.write("the member starts with the newer release again", await etcd.start("m2", "fenced", from));
  await etcd.settled();

  await ask("enable at another member", "ENABLE", low, "m1");
  await ask("enable again", "ENABLE", low);
  await ask("validate while it is enabled", "VALIDATE", low);
  await untilAll(etcd, ALL, isIn(low));
  await status("while it is enabled");
  await etcd.spare("m3");
  const added = await diary.need("a learner is added while it is enabled", () => addedPatiently(etcd));
  for (const version of [from, to])
    diary.write(`the learner cannot join with ${version}`, await etcd.start("m3", "joining", version));
  await diary.note("the learner is removed", () => client.removeMember(etcd.endpoint("m0"), added.member.id, OPTIONS));

  await restart("a member starts with the older release", "m2", to);
  await status("status of the downgraded member", "m2");
  await ask("cancel at the downgraded member", "CANCEL", "", "m2", SHORT);
  await untilAll(etcd, ["m0", "m1"], ({ downgradeTo }) => downgradeTo === undefined);
  await status("after the cancellation");
  await ask("validate after the cancellation", "VALIDATE", low);
  await restart("a second member starts with the older release", "m1", to);
  await restart("the last member starts with the older release", "m0", to);
  await diary.note("the member list after the downgrade", () =>
    client.memberList(etcd.endpoint("m0"), { ...OPTIONS, linearizable: true }),
  );
  for (const name of ALL) await restart(`${name} starts with the newer release again`, name, from);
  await untilAll(etcd, ALL, isIn(high));
  await status("in the end");
}

/** Such as 3.5 for 3.5.35. */
function minor(version: EtcdVersionText, more = 0): string {
  const [major, number] = version.split(".");
  return `${major}.${Number(number) + more}`;
}

/** Waits until the status of each of these members fulfils the condition. */
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
  throw new Error(`the status of ${names} does not become as expected`);
}

/** etcd accepts a new learner only after restarted members have been connected for a while. */
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
