import { expect, test } from "vitest";
import {
  BACKUP_DESTINATION_LABEL,
  CLAIM_CLUSTER_ID_ANNOTATION,
  CLUSTER_LABEL,
  PEER_LABEL,
  QUARANTINE_LABEL,
} from "#api/names.ts";
import { lackOfClaim, memberClaimText } from "#backup/claim.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import { available, BUSY, backup, destinationClaim, ON_VOLUME } from "#kit/snapshots/etcd-backup.ts";

const FIELD = "spec.destination.volume.claimName is backups";
const MARK = { [BACKUP_DESTINATION_LABEL]: "true" };

function on(given: Partial<BackupSnapshot>): BackupSnapshot {
  return backup({ stage: "new", spec: ON_VOLUME, with: given });
}

test.each<[string, Partial<BackupSnapshot>, string]>([
  ["an EtcdCluster's label", { claim: destinationClaim({ ...MARK, [CLUSTER_LABEL]: "a" }) }, "EtcdCluster a"],
  ["a member's label", { claim: destinationClaim({ ...MARK, [PEER_LABEL]: "a-0" }) }, "an EtcdCluster"],
  ["the label of a quarantined claim", { claim: destinationClaim({ ...MARK, [QUARANTINE_LABEL]: "a" }) }, "an EtcdCluster"],
  ["an etcd identity", { claim: destinationClaim(MARK, { [CLAIM_CLUSTER_ID_ANNOTATION]: "1" }) }, "an EtcdCluster"],
  ["a member's name", { claim: destinationClaim(), namesake: available() }, "EtcdCluster my-etcd"],
  ["a member's name, before the claim exists,", { claim: undefined, namesake: available() }, "EtcdCluster my-etcd"],
  ["a cluster's label and the name of another cluster's member", { claim: destinationClaim({ [CLUSTER_LABEL]: "a" }), namesake: available() }, "EtcdCluster a"],
])("a claim with %s cannot be a destination", (_, given, owner) => {
  const message = `${FIELD}, which is for the data of a member of ${owner}; it must be another claim`;
  expect(memberClaimText(on(given))).toBe(message);
  expect(lackOfClaim(on(given))).toEqual({ reason: "SpecRefused", message });
}); // biome-ignore format: a table

const HOW =
  "which is not labelled as a backup destination; if it is one, run: kubectl label persistentvolumeclaim backups";
test.each<[string, Partial<BackupSnapshot>, string]>([
  ["does not exist", { claim: undefined }, "which this namespace does not have"],
  ["has other labels", { claim: destinationClaim({ a: "b" }) }, `${HOW} ${BACKUP_DESTINATION_LABEL}=true`],
  ["has another value of the label", { claim: destinationClaim({ [BACKUP_DESTINATION_LABEL]: "false" }) }, `${HOW} ${BACKUP_DESTINATION_LABEL}=true`],
])("a claim that %s is not a destination until a user labels it", (_, given, why) => {
  expect(memberClaimText(on(given))).toBeUndefined();
  expect(lackOfClaim(on(given))).toEqual({ reason: "ClaimNotAllowed", message: `${FIELD}, ${why}` });
}); // biome-ignore format: a table

test("a claim without labels is not a destination until a user labels it", () => {
  const claim = destinationClaim();
  const { labels: _, annotations: __, ...metadata } = claim.metadata;
  expect(lackOfClaim(on({ claim: { ...claim, metadata } }))?.reason).toBe("ClaimNotAllowed");
});

test("a labelled claim can be a destination, and a bucket needs no claim", () => {
  expect(lackOfClaim(on({ claim: destinationClaim() }))).toBeUndefined();
  // It is not read while the backup waits for others. A check of a stored backup reads it.
  expect(lackOfClaim(on({ running: BUSY }))).toBeUndefined();
  expect(lackOfClaim(on({ running: { ...BUSY, all: 0, inNamespace: 0 } }))?.reason).toBe("ClaimNotAllowed");
  expect(lackOfClaim(on({ claim: destinationClaim({ a: "b" }), running: BUSY }))?.reason).toBe("ClaimNotAllowed");
  const { backup: waiting } = on({ running: BUSY });
  const checked = { ...waiting, status: { phase: "Completed" as const } };
  expect(lackOfClaim(on({ backup: checked, running: BUSY }))?.reason).toBe("ClaimNotAllowed");
  const bucket = backup({ stage: "new", with: { namesake: available() } });
  expect([memberClaimText(bucket), lackOfClaim(bucket)]).toEqual([undefined, undefined]);
});

test("a claim for a single pod is refused as the destination of an archive, and not of snapshots", () => {
  const claim = destinationClaim();
  const given = (mode: string) => {
    return { claim: { ...claim, spec: { ...claim.spec, accessModes: [mode] } } as typeof claim };
  };
  expect(lackOfClaim(on(given("ReadWriteOncePod")))).toBeUndefined();
  const archive = (mode: string) => backup({ stage: "new", spec: { ...ON_VOLUME, archive: {} }, with: given(mode) });
  expect(lackOfClaim(archive("ReadWriteOnce"))).toBeUndefined();
  const older = archive("ReadWriteOncePod");
  const status = { objectKey: "k" };
  expect(lackOfClaim({ ...older, backup: { ...older.backup, status } })).toBeUndefined();
  expect(lackOfClaim(older)).toMatchObject({
    reason: "ClaimNotAllowed",
    message: expect.stringContaining("ReadWriteOncePod. With spec.archive it must be ReadWriteMany or ReadWriteOnce"),
  });
});
