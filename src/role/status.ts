import { roleNameOf } from "#access/namesakes.ts";
import { hindranceOf } from "#access/place.ts";
import { conditionsWith, type Word, wordOf } from "#access/word.ts";
import type { EtcdRole, EtcdRoleStatus } from "#api/v1beta1/role.ts";
import { isDeleting, type RoleSnapshot } from "#role/snapshot.ts";
import type { RoleStep } from "#role/step.ts";
import type { Plan } from "#runtime/decide.ts";

/** What was seen and is meant, for people and for other software. Pure. */
export function roleStatus(snapshot: RoleSnapshot, plan: Plan<RoleStep>): EtcdRoleStatus {
  return withWord(snapshot.role, readyWord(snapshot, plan), snapshot.takenAtMs);
}

/** The status as it is, and that no look at the role comes to its end. */
export function failingStatus(role: EtcdRole, because: string, nowMs: number): EtcdRoleStatus {
  return withWord(role, { status: "Unknown", reason: "InternalError", message: because }, nowMs);
}

function withWord(role: EtcdRole, word: Word, nowMs: number): EtcdRoleStatus {
  const observedGeneration = role.metadata.generation ?? 0;
  return { ...role.status, observedGeneration, conditions: conditionsWith(role, word, nowMs) };
}

function readyWord(snapshot: RoleSnapshot, plan: Plan<RoleStep>): Word {
  const { role, cluster, access } = snapshot;
  const word = wordOf(plan, {
    "await-cluster": hindranceOf(role.spec.clusterName, cluster)?.reason ?? "Waiting",
    "await-etcd": "EtcdUnreachable",
    "name-taken": "NameTaken",
  });
  if (isDeleting(snapshot)) {
    const message = word?.message ?? "the role in etcd is gone";
    return { status: "False", reason: "Deleting", message };
  }
  if (word !== undefined) return word;
  const text = `role ${roleNameOf(role)} has just the permissions of the spec`;
  if (access.is === "present" && access.value.enabled) return { status: "True", reason: "Granted", message: text };
  const message = `${text}; auth is not enabled in etcd, so that whoever connects may do everything`;
  return { status: "True", reason: "AuthDisabled", message };
}
