import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { identityFor } from "#etcd/identity.ts";
import { ETCD_VERSIONS, neverAborted, startEtcd } from "#kit/etcd/etcd.ts";

describe.each(ETCD_VERSIONS)("etcd %s has the cluster ID and member IDs that the operator computes", (version) => {
  test.each([1, 3] as const)("%i members", async (members) => {
    const etcd = await startEtcd({ version, members, token: "prod/db/0123" });
    try {
      const expected = identityFor({
        token: etcd.token,
        members: etcd.members.map((member) => ({ name: member.plan.name, peerUrl: member.peerUrl })),
      });
      const found = await etcd.client.memberList(etcd.members[0]!.endpoint, {
        linearizable: true,
        signal: neverAborted,
      });
      assert.equal(found.clusterId, expected.clusterId);
      assert.deepEqual(
        new Map(found.members.map((member) => [member.name, member.id])),
        new Map(expected.members.map((member) => [member.name, member.id])),
      );
    } finally {
      await etcd.stop();
    }
  });
});
