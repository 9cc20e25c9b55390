import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { ROTATE_CA_ANNOTATIONS } from "#api/names.ts";
import { DEFAULT_TLS, NO_TLS } from "#api/tls.ts";
import { CRASHES } from "#kit/world/containers.ts";
import type { ClusterController } from "#kit/world/operator.ts";
import { AWAY_MS, type Edited, fateOf } from "./roll-sweep.ts";

const RESTARTED = { metadata: { annotations: { "kubectl.kubernetes.io/restartedAt": "now" } } };

const CRASHING: Edited = {
  name: "a template with which etcd crashes: the first member is rolled back",
  replicas: 3,
  edit: { podTemplate: { metadata: { annotations: { [CRASHES]: "true" } } } },
  version: "3.6.16",
  restarts: 2,
  ready: "UpdateStopped",
};

/**
 * Changes during a switch of TLS after which the operator dies. Plain restarts and status writes are covered by the
 * other edits.
 */
const SWITCHING = /^delete Pod |^replace EtcdPeer |^patch PersistentVolumeClaim |^updateMember/;

const EDITS: readonly Edited[] = [
  {
    name: "a restart of all members",
    replicas: 3,
    edit: { podTemplate: RESTARTED },
    version: "3.6.16",
    restarts: 3,
    ready: "AllMembersHealthy",
  },
  {
    name: "an upgrade",
    replicas: 3,
    edit: { version: "3.7.3" },
    version: "3.7.3",
    restarts: 3,
    ready: "AllMembersHealthy",
  },
  {
    name: "an upgrade of the only member",
    replicas: 1,
    edit: { version: "3.7.3" },
    version: "3.7.3",
    restarts: 1,
    ready: "AllMembersHealthy",
  },
  {
    name: "an unpublished release: the first member is rolled back",
    replicas: 3,
    edit: { version: "3.6.99" },
    version: "3.6.16",
    restarts: 2,
    ready: "UpdateStopped",
  },
  CRASHING,
  {
    name: "a rotation of the peer CA",
    replicas: 3,
    edit: {},
    tls: { client: { provider: "None" } },
    annotations: { [ROTATE_CA_ANNOTATIONS.peer]: "1" },
    version: "3.6.16",
    // Plain restarts and status writes are covered by the other edits.
    deaths: /^replace Secret |^delete Pod |^replace EtcdPeer /,
    // Each member restarts to trust both CAs, to present the new certificate, and to trust only the new CA.
    restarts: 9,
    ready: "AllMembersHealthy",
  },
  {
    name: "a switch of peers to TLS",
    replicas: 3,
    edit: { tls: { ...DEFAULT_TLS, client: NO_TLS.client } },
    version: "3.6.16",
    deaths: SWITCHING,
    // Each member restarts to get a certificate, and to be reached over TLS.
    restarts: 6,
    ready: "AllMembersHealthy",
  },
  {
    name: "a switch of peers back from TLS",
    replicas: 3,
    edit: { tls: NO_TLS },
    tls: { client: { provider: "None" } },
    version: "3.6.16",
    deaths: SWITCHING,
    restarts: 6,
    ready: "AllMembersHealthy",
  },
  {
    name: "a switch of a single member back from TLS on both sides",
    replicas: 1,
    edit: { tls: { ...NO_TLS, client: { ...NO_TLS.client, plaintextFor: "0s" } } },
    tls: {},
    version: "3.6.16",
    deaths: SWITCHING,
    restarts: 3,
    ready: "AllMembersHealthy",
  },
];

/**
 * Minimum number of changes: an EtcdPeer, its template, a pod, and the status. With fewer the sweep has not tried its
 * purpose.
 */
const FEWEST_CHANGES = 8;

const STATUS = /^replaceStatus EtcdCluster /;

describe("simulation: an edit has the same outcome when the operator dies after any of its changes", () => {
  for (const edited of EDITS) {
    test(edited.name, async () => {
      const calm = await fateOf(edited, 0, 0);
      assert.deepEqual(calm.wrong, []);
      assert.ok(calm.changes.length >= FEWEST_CHANGES, calm.changes.join(", "));
      for (const [index, change] of calm.changes.entries()) {
        if (edited.deaths?.test(change) === false) continue;
        const awayMs = AWAY_MS[index % AWAY_MS.length] ?? 0;
        const { diedAfter, wrong } = await fateOf(edited, index + 1, awayMs);
        assert.deepEqual(wrong, [], `it died after change ${index + 1}, ${diedAfter}, and was away for ${awayMs} ms`);
        // The number of status writes depends on the time of the observations; every other change is made in each life.
        if (diedAfter === undefined) assert.match(change, STATUS);
      }
    });
  }

  test("the sweep detects an operator that drops the recorded update after a restart", async () => {
    const { changes } = await fateOf(CRASHING, 0, 0);
    const fates = changes.map((_, index) => () => fateOf(CRASHING, index + 1, 0, { cluster: forgetful }));
    for (const fate of fates.reverse()) if ((await fate()).wrong.length > 0) return;
    assert.fail("no sweep noticed it");
  });
});

/** Drops the update from the first status of each operator process. */
function forgetful(real: ClusterController): ClusterController {
  let hasTold = false;
  return {
    ...real,
    status(snapshot, plan) {
      const { update, ...status } = real.status(snapshot, plan);
      const isKept = hasTold && update !== undefined;
      hasTold = true;
      return isKept ? { ...status, update } : status;
    },
  };
}
