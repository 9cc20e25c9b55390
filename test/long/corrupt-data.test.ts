import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CLIENT_PORT } from "#api/names.ts";
import { eventually, instance } from "#kit/e2e/e2e.ts";
import { damageVolume, killEtcd, raiseCorrupt } from "#kit/e2e/load-accidents.ts";
import { LoadedCluster } from "#kit/e2e/loaded-cluster.ts";

// A member's data becomes corrupt while clients write and read. Either etcd does not start with the files, or it raises
// an alarm and refuses clients.

const REPLACE_AFTER_SECONDS = 20;
const SOON_MS = 120_000;

let cluster: LoadedCluster;

beforeAll(async () => {
  cluster = await LoadedCluster.start("corrupt-data", { operatorFlags: [`--replace-after=${REPLACE_AFTER_SECONDS}s`] });
});

afterAll(() => cluster?.[Symbol.asyncDispose]());

/**
 * Raises CORRUPT for a member, or for member 0, as etcd does when it cannot tell which one; any member accepts the
 * request.
 */
async function raise(name: string | undefined): Promise<void> {
  const { members = [] } = (await cluster.get()).status ?? {};
  const id = members.find((member) => member.name === name)?.id ?? "0";
  const host = `${members[0]!.name}.${cluster.name}.${cluster.namespace}.svc.cluster.local`;
  await raiseCorrupt(`${host}:${CLIENT_PORT}`, BigInt(`0x${id}`).toString());
}

async function untilReplaced(name: string): Promise<void> {
  await eventually(async () => expect(await cluster.quarantined()).toContain(name), SOON_MS);
  expect(await cluster.untilWhole(3)).not.toContain(name);
}

test("a member with damaged files, with which etcd does not start, is replaced", async () => {
  const { name, pod } = await cluster.memberAwayFromOperator();
  await cluster.feltDuring("files damaged", async () => {
    await damageVolume(instance, pod.spec.nodeName, await cluster.volumeOf(name));
    await killEtcd(pod.metadata.uid);
    await untilReplaced(name);
  });
});

test.each(["a follower", "the leader"])(
  "when the data of %s is corrupt, the member is replaced, and the alarm is disarmed",
  async (role) => {
    const { leader, members = [] } = (await cluster.get()).status ?? {};
    const { name } = members.find((member) => (member.name === leader) === (role === "the leader"))!;
    await cluster.feltDuring(`${role} corrupt`, async () => {
      await raise(name);
      await cluster.untilCondition("Available", "False", "CorruptionAlarm");
      await untilReplaced(name);
    });
  },
);

test("a CORRUPT alarm without a member changes nothing until a person decides", async () => {
  await raise(undefined);
  await cluster.untilCondition("Available", "False", "CorruptionAlarm");
  await cluster.scale(1);
  await cluster.untilCondition("Progressing", "True", "Scaling");
  await sleep(2 * REPLACE_AFTER_SECONDS * 1_000); // longer than any of the operator's delays
  const [name = ""] = await cluster.names("etcdpeers");
  expect(await cluster.names("etcdpeers")).toHaveLength(3);
  expect(await cluster.members(name)).toHaveLength(3);
  await cluster.etcdctl(name, "alarm", "disarm");
  await cluster.untilWhole(1);
});

test("no acknowledged write is missing", async () => {
  await cluster.end();
});
