import { expect, test } from "vitest";
import { PROVISIONER } from "./storage.ts";
import {
  type Claim,
  FINALIZER,
  fateOf,
  nodeOf,
  nodeToProvisionOn,
  SELECTED_NODE,
  type Volume,
  volumeFor,
  WANTED_OF,
} from "./volumes.ts";

function claim(spec: Partial<Claim["spec"]> = {}, metadata: Partial<Claim["metadata"]> = {}): Claim {
  return {
    metadata: {
      name: "data",
      namespace: "db",
      uid: "u1",
      annotations: { [SELECTED_NODE]: "node-2", [WANTED_OF]: PROVISIONER },
      ...metadata,
    },
    spec: { storageClassName: "local", resources: { requests: { storage: "2Gi" } }, ...spec },
  };
}

const claims = [
  { name: "a claim with a selected node gets a volume there", given: claim(), expected: "node-2" },
  { name: "a claim without a node waits for its pod", given: claim({}, { annotations: {} }), expected: undefined },
  { name: "a bound claim gets no second volume", given: claim({ volumeName: "pv" }), expected: undefined },
  {
    name: "a claim of any storage class with this provisioner gets a volume",
    given: claim({ storageClassName: "fast" }),
    expected: "node-2",
  },
  {
    name: "claims of another provisioner get no volume",
    given: claim({}, { annotations: { [SELECTED_NODE]: "node-2", [WANTED_OF]: "example.test/fast" } }),
    expected: undefined,
  },
  {
    name: "a claim that is being deleted gets no volume",
    given: claim({}, { deletionTimestamp: "2026-01-01T00:00:00Z" }),
    expected: undefined,
  },
  {
    name: "a claim with a path as node name gets no volume",
    given: claim({}, { annotations: { [SELECTED_NODE]: "../x", [WANTED_OF]: PROVISIONER } }),
    expected: undefined,
  },
  { name: "a claim of a block device gets no volume", given: claim({ volumeMode: "Block" }), expected: undefined },
];
for (const { name, given, expected } of claims) {
  test(`volumes: ${name}`, () => expect(nodeToProvisionOn(given)).toBe(expected));
}

test("volumes: a volume is bound to its claim and to its node", () => {
  const volume = volumeFor(claim(), "node-2");
  expect(volume.spec.claimRef).toMatchObject({ namespace: "db", name: "data", uid: "u1" });
  expect(nodeOf(volume)).toBe("node-2");
});

function volume(phase: string, change: { deleted?: boolean; policy?: string; finalizers?: string[] } = {}): Volume {
  const made = volumeFor(claim(), "node-1");
  return {
    ...made,
    metadata: {
      ...made.metadata,
      finalizers: change.finalizers ?? [FINALIZER],
      ...(change.deleted ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
    },
    spec: { ...made.spec, persistentVolumeReclaimPolicy: change.policy ?? "Delete" },
    status: { phase },
  };
}

const fates = [
  { name: "a bound volume is kept", given: volume("Bound"), expected: "keep" },
  { name: "a released volume is deleted", given: volume("Released"), expected: "delete" },
  {
    name: "a released volume with policy Retain is kept",
    given: volume("Released", { policy: "Retain" }),
    expected: "keep",
  },
  {
    name: "the data of a deleted volume are erased before it is removed",
    given: volume("Released", { deleted: true }),
    expected: "erase",
  },
  {
    name: "data of a bound claim are kept, also when their volume is deleted",
    given: volume("Bound", { deleted: true }),
    expected: "keep",
  },
  {
    name: "a volume with erased data causes no further action",
    given: volume("Released", { deleted: true, finalizers: [] }),
    expected: "keep",
  },
] as const;
for (const { name, given, expected } of fates) {
  test(`volumes: ${name}`, () => expect(fateOf(given)).toBe(expected));
}
