import { expect } from "vitest";
import { mustHaveItsData, readyWith, testSweeps } from "#kit/sweeps/crash-sweep.ts";
import type { Scenario } from "#kit/sweeps/operator-sweep.ts";
import type { World } from "#kit/sweeps/operator-world.ts";

const OPERATOR = { provider: "Operator" } as const;

// tls-history.test.ts covers several members. A single member causes each kind of write, in a third of the time.
const toTls: Scenario = {
  name: "to TLS",
  // The member gets another pod for each step; which one existed when the operator died is chance.
  mayBeMadeAnew: (object) => object.startsWith("Pod "),
  withinMs: 180_000,
  prepare: (world) => readyWith(world, 1),
  act: (world) => world.patch({ tls: { peer: OPERATOR, client: { ...OPERATOR, plaintextFor: "0s" } } }),
  settled: mustSpeakTls,
  holds: mustHaveItsData,
};

async function mustSpeakTls(world: World): Promise<void> {
  await world.mustBeReady();
  const { status } = await world.get();
  expect(status).not.toHaveProperty("update");
  expect(status?.tls?.client).toEqual({ scheme: "https", issuedBy: OPERATOR });
  const { members } = await world.memberList();
  expect(members.map(({ peerUrls }) => peerUrls.every((url) => url.startsWith("https:")))).toEqual([true]);
}

testSweeps([
  {
    scenario: toTls,
    mustWrite: [
      "POST secrets/my-etcd-peer-ca",
      "POST secrets/my-etcd-client",
      "PUT etcdpeers/my-etcd-0",
      "MemberUpdate",
      "DELETE pods/my-etcd-0",
    ],
  },
]);
