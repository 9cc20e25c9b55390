import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { CallOptions } from "#etcd/client.ts";
import { ETCD_VERSIONS, neverAborted, planEtcd, startEtcd, untilLed } from "#kit/etcd/etcd.ts";

const options: CallOptions = { signal: neverAborted };

/**
 * Flags that let a member with data start and keep one without data from starting: no member has the only name in them.
 */
const FENCE = { initialCluster: "fenced=http://fenced.invalid:2380", state: "existing" } as const;

describe.each(ETCD_VERSIONS)("fenced etcd %s", (version) => {
  test("a member with its data starts again as the same member", async () => {
    const etcd = await startEtcd({ version, members: 3 });
    try {
      const member = etcd.members[0]!;
      const before = await etcd.client.status(member.endpoint, options);
      await member.kill();
      await member.start(FENCE);
      await untilLed(etcd.client, member);
      const after = await etcd.client.status(member.endpoint, options);
      assert.equal(after.memberId, before.memberId);
      assert.equal(after.clusterId, before.clusterId);
    } finally {
      await etcd.stop();
    }
  });

  test("the only member of a cluster with its data starts again", async () => {
    const etcd = await startEtcd({ version, members: 1 });
    try {
      const member = etcd.members[0]!;
      const before = await etcd.client.status(member.endpoint, options);
      await member.kill();
      await member.start(FENCE);
      await untilLed(etcd.client, member);
      assert.equal((await etcd.client.status(member.endpoint, options)).memberId, before.memberId);
    } finally {
      await etcd.stop();
    }
  });

  test("a fenced member with an empty disk ends at once and logs the cause", async () => {
    const etcd = await planEtcd({ version, members: 1 });
    try {
      const member = etcd.members[0]!;
      const startedAtMs = performance.now();
      await member.start(FENCE);
      const exitCode = await member.exited();
      assert.ok(exitCode !== null && exitCode !== 0, `exit code ${exitCode}`);
      assert.ok(performance.now() - startedAtMs < 5_000);
      assert.match(member.log, /couldn't find local name/);
    } finally {
      await etcd.stop();
    }
  });
});
