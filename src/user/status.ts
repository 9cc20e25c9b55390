import { isDeleting } from "#access/claim.ts";
import { hindranceOf } from "#access/place.ts";
import { doneWord, statusWith, type Word, wordOf } from "#access/word.ts";
import { userNameOf } from "#api/etcd-names.ts";
import type { EtcdUserStatus } from "#api/v1beta1/user.ts";
import { rfc3339 } from "#base/timestamp.ts";
import type { Plan } from "#runtime/decide.ts";
import { hasPassword, ownBinding, type UserSnapshot } from "#user/snapshot.ts";
import type { UserStep } from "#user/step.ts";
import { refusalOf } from "#user/trouble.ts";

/** Computes the status of the EtcdUser. Pure. */
export function userStatus(snapshot: UserSnapshot, plan: Plan<UserStep>): EtcdUserStatus {
  const { user, takenAtMs, binding } = snapshot;
  const status = statusWith(user, readyWord(snapshot, plan), takenAtMs);
  if (binding.is === "unknown") return status;
  const ofBinding = bindingStatus(snapshot);
  // Without passwordFrom: during a pause etcd does not check the password, so the recorded value stays. A missing
  // binding is removed from the status, because the cluster's CA rotation waits for the CAs in bindings.
  const { binding: _, certificate: __, ...others } = status;
  return { ...others, ...ofBinding };
}

/**
 * The binding's part of the status. lastRotationTime changes only when etcd has the new password: until then the previous
 * one is valid.
 */
function bindingStatus(snapshot: UserSnapshot): EtcdUserStatus {
  const own = ownBinding(snapshot);
  if (own === undefined) return {};
  const { name, certificate, uid, resourceVersion, rotatedAtMs, trustIds } = own;
  const signedBy = certificate?.signerId;
  const isSet = snapshot.password.is === "present" && snapshot.password.value === "fits";
  const isGood = !hasPassword(snapshot) || isSet;
  return {
    binding: { name, trusts: [...trustIds], ...(signedBy === undefined ? {} : { signedBy }) },
    ...(certificate === undefined ? {} : { certificate: { notAfter: rfc3339(certificate.notAfterMs) } }),
    ...(isGood && rotatedAtMs !== undefined ? { lastRotationTime: rfc3339(rotatedAtMs) } : {}),
    ...(isSet ? { passwordFrom: { uid, resourceVersion } } : {}),
  };
}

function readyWord(snapshot: UserSnapshot, plan: Plan<UserStep>): Word {
  const { user, cluster, access, takenAtMs } = snapshot;
  const word = wordOf(plan, {
    "await-cluster": hindranceOf(user.spec.clusterRef.name, cluster)?.reason ?? "Waiting",
    "await-etcd": "EtcdUnreachable",
    "name-taken": "NameTaken",
    "binding-taken": "NameTaken",
    "refuse-user": "SpecRefused",
    "await-certificate": "CertificatePending",
    "await-password": "PasswordRefused",
    "await-role": "RoleMissing",
  });
  if (isDeleting({ object: user }))
    return { status: "False", reason: "Deleting", message: word?.message ?? "the user is deleted in etcd" };
  // Publishing CAs is the only step of a refused user. If that fails, too, both messages are shown.
  const refusal = refusalOf(snapshot);
  if (refusal !== undefined) {
    const step = plan.reports?.find(({ is }) => is === "refused");
    const message = step === undefined ? refusal : `${refusal}; ${step.rule}: ${step.because}`;
    return { status: "False", reason: "SpecRefused", message };
  }
  if (word !== undefined) return word;
  const { name: secretName, certificate } = ownBinding(snapshot) ?? {};
  const endsMs = certificate?.notAfterMs || Number.POSITIVE_INFINITY;
  if (endsMs <= takenAtMs) {
    const message = `the certificate in Secret ${secretName} expired at ${rfc3339(endsMs)} and was not renewed in time`;
    return { status: "False", reason: "CertificatePending", message };
  }
  const name = userNameOf(user);
  const text = `user ${name} has just the roles of the spec, and Secret ${secretName} is for its application`;
  return doneWord(access, "Bound", text);
}
