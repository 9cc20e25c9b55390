import { lackOfClaim } from "#backup/claim.ts";
import { verificationJob } from "#backup/desired/verification.ts";
import { isToBeVerified } from "#backup/snapshot.ts";
import type { BackupRule } from "#backup/step.ts";
import { targetOf } from "#backup/target.ts";
import { etcdImageOf } from "#backup/verification.ts";
import { step } from "#runtime/decide.ts";

/**
 * Creates the Job that verifies a stored object when `spec.verification.mode` is Restore: it restores the object to a throw-away etcd
 * and compares its data.
 */
export const verifyObject: BackupRule = {
  name: "verify-object",
  decide(snapshot) {
    const { verifying, agentImage } = snapshot;
    if (!isToBeVerified(snapshot) || verifying !== undefined || agentImage === undefined) return undefined;
    const [target, etcd] = [targetOf(snapshot), etcdImageOf(snapshot)];
    if (typeof target === "string" || etcd === undefined || lackOfClaim(snapshot) !== undefined) return undefined;
    const job = verificationJob(snapshot, target, agentImage, etcd);
    return step(
      "verify-object",
      `spec.verification.mode is Restore: ${target.url} is restored to a throw-away etcd and compared`,
      {
        do: "createVerificationJob",
        job,
      },
    );
  },
};
