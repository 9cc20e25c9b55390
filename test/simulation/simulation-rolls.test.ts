import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { ROTATE_CA_ANNOTATION } from "#api/names.ts";
import { DEFAULT_TLS, NO_TLS } from "#api/tls.ts";
import { CRASHES } from "#kit/world-containers.ts";
import type { ClusterController } from "#kit/world-operator.ts";
import { AWAY_MS, type Edited, fateOf } from "./roll-sweep.ts";

const RESTARTED = { metadata: { annotations: { "kubectl.kubernetes.io/restartedAt": "now" } } };

const CRASHING: Edited = {
  name: "what lets etcd crash: the first member is put back",
  replicas: 3,
  edit: { podTemplate: { metadata: { annotations: { [CRASHES]: "true" } } } },
  version: "3.6.16",
  restarts: 2,
  ready: "UpdateStopped",
};

/** Of a change of how members are reached: restarts by themselves are tried above, and what is only told. */
const SWITCHING = /^delete Pod |^replace EtcdPeer |^patch PersistentVolumeClaim |^updateMember/;

const EDITS: readonly Edited[] = [
  {
    name: "a restart of everybody",
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
    name: "a release that nobody has published: the first member is put back",
    replicas: 3,
    edit: { version: "3.6.99" },
    version: "3.6.16",
    restarts: 2,
    ready: "UpdateStopped",
  },
  CRASHING,
  {
    name: "an authority of members that is followed by another one",
    replicas: 3,
    edit: {},
    tls: { client: { provider: "None" } },
    annotations: { [ROTATE_CA_ANNOTATION]: "peer" },
    version: "3.6.16",
    // Restarts by themselves are tried above, and what is only told.
    deaths: /^replace Secret |^delete Pod |^replace EtcdPeer /,
    // Each restarts to trust both, to show what the new one has signed, and to trust that one alone.
    restarts: 9,
    ready: "AllMembersHealthy",
  },
  {
    name: "members of a cluster without TLS that go over to it",
    replicas: 3,
    edit: { tls: { ...DEFAULT_TLS, client: NO_TLS.client } },
    version: "3.6.16",
    deaths: SWITCHING,
    // Each restarts to have a certificate, and to be reached over TLS.
    restarts: 6,
    ready: "AllMembersHealthy",
  },
  {
    name: "members that go back from TLS",
    replicas: 3,
    edit: { tls: NO_TLS },
    tls: { client: { provider: "None" } },
    version: "3.6.16",
    deaths: SWITCHING,
    restarts: 6,
    ready: "AllMembersHealthy",
  },
  {
    name: "the only member of a cluster that goes back from TLS altogether",
    replicas: 1,
    edit: { tls: { ...NO_TLS, client: { ...NO_TLS.client, plaintextFor: "0s" } } },
    tls: {},
    version: "3.6.16",
    deaths: SWITCHING,
    restarts: 3,
    ready: "AllMembersHealthy",
  },
];

/** Fewer would mean that the sweep has not tried what it is for: a peer, its template, a pod, and what is told of it. */
const FEWEST_CHANGES = 8;

const STATUS = /^replaceStatus EtcdCluster /;

describe("simulation: an operator that dies after any of its changes comes to the same end", () => {
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
        // How often the status is told depends on when it is looked; every other change is made in each life.
        if (diedAfter === undefined) assert.match(change, STATUS);
      }
    });
  }

  test("unless it forgets, when it starts, what stands on record of the update", async () => {
    const { changes } = await fateOf(CRASHING, 0, 0);
    const fates = changes.map((_, index) => () => fateOf(CRASHING, index + 1, 0, { cluster: forgetful }));
    for (const fate of fates.reverse()) if ((await fate()).wrong.length > 0) return;
    assert.fail("nobody noticed");
  });
});

/** The first status that it tells in its life says nothing of an update. */
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
