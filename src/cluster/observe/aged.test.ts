import { expect, test } from "vitest";
import { absent, present } from "#base/observed.ts";
import type { SeenBinding, SeenCertificate } from "#cluster/snapshot.ts";
import { cluster, NOW } from "#kit/snapshots/cluster.ts";
import { made, secured } from "#kit/snapshots/cluster-tls.ts";
import { aged } from "./aged.ts";

const MINUTE_MS = 60_000;

test("aged: without certificates only the time changes", () => {
  const snapshot = cluster();
  expect(aged(snapshot, MINUTE_MS)).toEqual({ ...snapshot, takenAtMs: NOW + MINUTE_MS });
});

test("aged: all certificate ages increase, and everything else is unchanged", () => {
  const snapshot = secured();
  const peer = made(snapshot, "peer", { knownForMs: 1_000, signerForMs: 2_000 });
  const older = { ...peer, knownForMs: 61_000, signerForMs: 62_000 };
  const binding = { user: "bob", knownForMs: 5_000 } as SeenBinding;
  const before = {
    ...snapshot.certificates,
    peer: present<SeenCertificate>(peer),
    server: absent,
    clientSecret: present<SeenCertificate>(peer),
    previous: { peer: present<SeenCertificate>(peer), server: absent },
    abandoned: { server: present<SeenCertificate>(peer) },
    bindings: [binding],
    trustMapForMs: 3_000,
    podsForMs: new Map([["my-etcd-0", 4_000]]),
    refused: "secrets is forbidden",
    requests: { peer: absent },
  };
  const { certificates: after, takenAtMs } = aged({ ...snapshot, certificates: before }, MINUTE_MS);
  expect(takenAtMs).toBe(NOW + MINUTE_MS);
  expect(after).toMatchObject({
    peer: { value: older },
    server: absent,
    clientSecret: { value: older },
    previous: { peer: { value: older }, server: absent },
    abandoned: { server: { value: older } },
    bindings: [{ user: "bob", knownForMs: 65_000 }],
    trustMap: before.trustMap,
    trustMapForMs: 63_000,
    podsForMs: new Map([["my-etcd-0", 64_000]]),
    refused: "secrets is forbidden",
    requests: { peer: absent },
  });
  expect(Object.keys(after!).sort()).toEqual(Object.keys(before).sort());
});

test("aged: parts that were not observed stay missing", () => {
  const snapshot = { ...secured(), certificates: { refused: "secrets is forbidden" } };
  expect(aged(snapshot, MINUTE_MS).certificates).toEqual({ refused: "secrets is forbidden" });
});
