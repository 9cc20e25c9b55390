import { randomBytes } from "node:crypto";
import type { AccessReads } from "#access/reads.ts";
import { withoutGiven } from "#api/given-metadata.ts";
import { CERTIFICATE_FILE, KEY_FILE, ROTATED_FOR_ANNOTATION, USER_FINALIZER } from "#api/names.ts";
import { ETCD_USERS, type EtcdUser } from "#api/v1beta1/user.ts";
import { OperatorError } from "#base/error.ts";
import { invariant } from "#base/invariant.ts";
import { type CertificateFacts, textIn } from "#certificates/facts.ts";
import type { Issuer } from "#certificates/issue.ts";
import type { KeyPair } from "#certificates/pem.ts";
import type { KubeClient } from "#kube/client.ts";
import { CERTIFICATES, SECRETS, type Secret } from "#kube/kinds.ts";
import { replacing } from "#kube/replacing.ts";
import type { Written } from "#runtime/controller.ts";
import { writeStatus } from "#runtime/status-writer.ts";
import { patchFinalizers } from "#runtime/writes.ts";
import { orderOf } from "#user/credentials.ts";
import type { BindingWish } from "#user/desired/binding.ts";
import { PASSWORD_KEY } from "#user/facts.ts";
import { readPassword, versionOf } from "#user/observe.ts";
import type { BindingReads } from "#user/reads.ts";
import { type BindingFacts, ownBinding, type UserSnapshot } from "#user/snapshot.ts";
import type { UserStep } from "#user/step.ts";

// Why is a new password written to the Secret before etcd gets it?
//   A password in the Secret can be set in etcd at any time, also by an operator that restarts in between and finds a
//   difference. A password
//   that etcd had first would be lost with the process, and no application could log in.
// Passwords and keys are only in the Secrets and in local variables of these functions.

/** Random bytes of a password: 192 bits. */
const PASSWORD_BYTES = 24;

/** What this controller writes with. */
export interface UserWrites {
  readonly kube: Pick<KubeClient, "find" | "get" | "create" | "patch" | "replace">;
  readonly access: Pick<AccessReads, "change">;
  readonly bindings: Pick<BindingReads, "forget">;
  readonly issuer: Pick<Issuer, "newLeaf">;
}

/** Does one step: exactly one write, with its precondition. */
export async function actOnUser(
  writes: UserWrites,
  step: UserStep,
  snapshot: UserSnapshot,
  signal: AbortSignal,
): Promise<Written> {
  const { kube } = writes;
  const { user } = snapshot;
  const finalizers = user.metadata.finalizers ?? [];
  switch (step.do) {
    case "holdUser":
      return await patchFinalizers(kube, ETCD_USERS, user, [...finalizers, USER_FINALIZER], signal);
    case "releaseUser": {
      const others = finalizers.filter((each) => each !== USER_FINALIZER);
      await patchFinalizers(kube, ETCD_USERS, user, others, signal);
      return { kind: "external" }; // The object may be deleted with its last finalizer.
    }
    case "claimUser": {
      // The password of an existing user is unknown.
      const { passwordFrom: _, ...others } = user.status ?? {};
      return await writeStatus(
        kube,
        ETCD_USERS,
        user,
        { ...others, userName: step.name, clusterID: step.clusterID },
        signal,
      );
    }
    case "requestCertificate":
    case "writeBinding":
    case "addUser":
    case "setPassword":
    case "grantRole":
    case "revokeRole":
    case "deleteUser":
      try {
        await (step.do === "requestCertificate"
          ? request(writes, step, snapshot, signal)
          : step.do === "writeBinding"
            ? writeBinding(writes, step.wish, snapshot, signal)
            : change(writes, step, snapshot, signal));
      } finally {
        // Forgotten after a failure too, because the write may have happened.
        if (!isOfRoles(step)) writes.bindings.forget(user.metadata, user.spec.clusterRef.name);
      }
      return { kind: "external" };
  }
}

function isOfRoles({ do: what }: UserStep): boolean {
  return what === "grantRole" || what === "revokeRole";
}

type EtcdStep = Extract<UserStep, { do: "addUser" | "setPassword" | "grantRole" | "revokeRole" | "deleteUser" }>;

async function change(
  { kube, access }: UserWrites,
  step: EtcdStep,
  { user, cluster }: UserSnapshot,
  signal: AbortSignal,
): Promise<void> {
  invariant(cluster !== undefined, "a user is changed in etcd only when its EtcdCluster exists");
  const { name } = step;
  const from = step.do === "addUser" || step.do === "setPassword" ? step.from : undefined;
  const password = from && (await passwordUnchanged(kube, user, from, signal));
  const grants = from && { user: name, from: versionOf(from) };
  await access.change(
    cluster,
    signal,
    { user: name },
    async (etcd, at, options) => {
      switch (step.do) {
        case "addUser":
          return await etcd.userAdd(at, name, password, options);
        case "setPassword":
          return await etcd.userChangePassword(at, name, password ?? "", options);
        case "grantRole":
          return await etcd.userGrantRole(at, name, step.role, options);
        case "revokeRole":
          return await etcd.userRevokeRole(at, name, step.role, options);
        case "deleteUser":
          return await etcd.userDelete(at, name, options);
      }
    },
    grants,
  );
}

/** @throws OperatorError KubeConflict when it is not what was seen any more */
async function passwordUnchanged(kube: UserWrites["kube"], user: EtcdUser, from: BindingFacts, signal: AbortSignal) {
  const password = await readPassword(kube, user, from, signal);
  if (password === undefined || password === "") throw secretChanged(from.name);
  return password;
}

async function request(
  { kube }: UserWrites,
  step: Extract<UserStep, { do: "requestCertificate" }>,
  { request: seen }: UserSnapshot,
  signal: AbortSignal,
): Promise<void> {
  if (seen.is === "present") await kube.replace(CERTIFICATES, replacing(seen.value, step.request), { signal });
  else await kube.create(CERTIFICATES, step.request, { signal });
}

async function writeBinding(
  { kube, issuer }: Pick<UserWrites, "kube" | "issuer">,
  wish: BindingWish,
  snapshot: UserSnapshot,
  signal: AbortSignal,
): Promise<void> {
  const own = ownBinding(snapshot);
  const live = own && (await secretUnchanged(kube, snapshot.user, own, signal));
  const pair = await pairFor({ kube, issuer }, wish.pair, snapshot, live, signal);
  const password = wish.password === "keep" && live !== undefined ? textIn(live, PASSWORD_KEY) : newPassword();
  const data = {
    ...Object.fromEntries(Object.entries(wish.texts).map(([key, text]) => [key, base64(text)])),
    ...(wish.password === "none" ? {} : { [PASSWORD_KEY]: base64(password) }),
    ...(pair === undefined ? {} : { [CERTIFICATE_FILE]: base64(pair.certificate), [KEY_FILE]: base64(pair.key) }),
  };
  const draft = { ...wish.draft, data };
  if (live === undefined) {
    await kube.create(SECRETS, draft, { signal });
    return;
  }
  const { metadata, ...rest } = replacing<Secret>(withoutGiven(live), { ...draft, type: live.type ?? "Opaque" });
  const { [ROTATED_FOR_ANNOTATION]: _, ...others } = metadata.annotations ?? {};
  const annotations = { ...others, ...draft.metadata.annotations };
  await kube.replace(SECRETS, { ...rest, metadata: { ...metadata, annotations } }, { signal });
}

async function pairFor(
  { kube, issuer }: Pick<UserWrites, "kube" | "issuer">,
  how: BindingWish["pair"],
  { user, cluster, signer, takenAtMs }: UserSnapshot,
  live: Secret | undefined,
  signal: AbortSignal,
): Promise<KeyPair | undefined> {
  if (how === "none") return undefined;
  if (how === "keep") return live && pairIn(live);
  invariant(signer.is === "present" && cluster !== undefined, "a certificate is issued by a CA that was read");
  const from = await secretUnchanged(kube, user, { ...signer.value, name: signer.value.secretName }, signal);
  if (how === "copy") return pairIn(from);
  const { durationMs, ...order } = orderOf(user, cluster);
  // Valid from the CA's own notBefore: a client with a clock behind the operator's does not find the certificate not
  // yet valid.
  const validity = { fromMs: signer.value.notBeforeMs, untilMs: takenAtMs + durationMs };
  return await issuer.newLeaf(pairIn(from), { ...order, ...validity });
}

/** @throws OperatorError KubeConflict when it is not what was seen any more */
async function secretUnchanged(
  kube: UserWrites["kube"],
  { metadata: { namespace } }: EtcdUser,
  { name, uid, resourceVersion }: Pick<CertificateFacts, "uid" | "resourceVersion"> & { readonly name: string },
  signal: AbortSignal,
): Promise<Secret> {
  const live = await kube.get(SECRETS, { namespace, name }, { signal });
  if (live.metadata.uid === uid && live.metadata.resourceVersion === resourceVersion) return live;
  throw secretChanged(name);
}

function secretChanged(name: string): OperatorError {
  return new OperatorError("KubeConflict", `Secret ${name} has changed since it was read`);
}

function pairIn(secret: Secret): KeyPair {
  return { certificate: textIn(secret, CERTIFICATE_FILE), key: textIn(secret, KEY_FILE) };
}

function newPassword(): string {
  return randomBytes(PASSWORD_BYTES).toString("base64url");
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
