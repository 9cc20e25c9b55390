import { rfc3339Micro } from "#base/timestamp.ts";
import type { Draft, Lease, Ref } from "./kinds.ts";

// Contents of a Lease, with the fields set as client-go sets them.
// https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/lease-v1/

interface Holder {
  readonly identity: string;
  readonly durationMs: number;
  /** Wall clock; for display only, no decision depends on it. */
  readonly nowMs: number;
}

/** The lease acquired or renewed by the holder. @param current the existing lease, or the name for a new one */
export function heldLease(current: Lease | Ref, { identity, durationMs, nowMs }: Holder): Draft<Lease> {
  const now = rfc3339Micro(nowMs);
  const isNew = !("metadata" in current);
  const before = isNew ? undefined : current.spec;
  const isRenewal = before?.holderIdentity === identity;
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: isNew ? current : current.metadata,
    spec: {
      ...before,
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(durationMs / 1000),
      acquireTime: isRenewal ? (before.acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: isNew ? 0 : (before?.leaseTransitions ?? 0) + (isRenewal ? 0 : 1),
    },
  };
}

/** The lease without a holder. Its duration is a second, for candidates that do not recognize an empty holder. */
export function releasedLease(current: Lease, nowMs: number): Draft<Lease> {
  const spec = { ...current.spec, holderIdentity: "", leaseDurationSeconds: 1, renewTime: rfc3339Micro(nowMs) };
  return { ...current, spec };
}

/** Whether uid and resourceVersion are equal. */
export function isSameVersion(a: Lease, b: Lease | undefined): boolean {
  return a.metadata.uid === b?.metadata.uid && a.metadata.resourceVersion === b.metadata.resourceVersion;
}
