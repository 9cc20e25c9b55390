import { isAuthWanted } from "#api/auth.ts";
import { ROOT, rootSecretName } from "#api/names.ts";
import { isAsleep } from "#api/sleep.ts";
import type { EtcdCluster, EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import { missingRightText } from "#certificates/missing-right.ts";
import type { Case, Verdict } from "#cluster/readiness/verdict.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { hindranceOf, stateOf } from "./hindrance.ts";
import { isAdministrator, recordedUsers } from "./users.ts";

const RULES = new Set(["root-secret", "root-password", "administrators", "switch-auth"]);

/**
 * Condition AuthReady: whether authentication of etcd is as the spec asks for. Absent until spec.auth was set, or
 * authentication is on.
 */
export function authReady({ snapshot, plan }: Pick<Case, "snapshot" | "plan">): Verdict | undefined {
  const { cluster, auth } = snapshot;
  const wanted = isAuthWanted(cluster.spec);
  // A cluster that sleeps is not queried: the previous condition stays.
  if (cluster.metadata.deletionTimestamp !== undefined || isAsleep(cluster)) return undefined;
  if (wanted === undefined && cluster.status?.auth === undefined) return forgotten(cluster);
  const hindrance = hindranceOf(snapshot);
  const state = stateOf(snapshot);
  const refused = plan.reports?.find(({ rule, is }) => RULES.has(rule) && is === "refused");
  if (refused !== undefined) return no("StepRefused", `${refused.rule}: ${refused.because}`);
  if (hindrance !== undefined || state === undefined) {
    const { reason, message } = hindrance ?? { reason: "AuthUnknown", message: "etcd did not answer" };
    return { status: reason === "AuthUnknown" ? "Unknown" : "False", reason, message };
  }
  if (wanted === undefined)
    return state.enabled
      ? no("AuthUnasked", "authentication is on, and spec.auth is not set; set spec.auth.enabled to true or false")
      : { status: "True", reason: "AuthDisabled", message: "authentication is off" };
  if (wanted && auth?.rootSecret.is === "unknown") return unread(cluster.metadata.name, auth.rootSecret.why);
  if (state.enabled !== wanted)
    return no(
      "AuthPending",
      wanted ? "authentication is about to be switched on" : "authentication is about to be switched off",
    );
  if (!wanted)
    return { status: "True", reason: "AuthDisabled", message: "authentication is off; users and roles stay" };
  const isWhole = isAdministrator(state) && state.root?.includes(ROOT) === true && state.isRootsPassword;
  if (!isWhole || auth?.rootSecret.is !== "present")
    return no("AuthPending", `authentication is on; the user of the operator or ${ROOT} is about to be corrected`);
  const message = `authentication is on; the operator is ${auth.user}, and the password of ${ROOT} is in Secret ${auth.rootSecret.value.name}`;
  return { status: "True", reason: "AuthEnabled", message };
}

/**
 * spec.auth is no longer set, and authentication was not seen to be on: otherwise the previous condition would stay
 * forever.
 */
function forgotten({ status }: EtcdCluster): Verdict | undefined {
  const recorded = status?.conditions?.find(({ type }) => type === "AuthReady");
  if (recorded === undefined || recorded.reason === "AuthDisabled") return undefined;
  const message = "spec.auth is not set, and authentication is not known to be on";
  return { status: "True", reason: "AuthDisabled", message };
}

/** @param why the API server's message */
function unread(cluster: string, why: string): Verdict {
  const right = missingRightText(why);
  if (right !== undefined) return { status: "Unknown", reason: "RightMissing", message: right };
  return {
    status: "Unknown",
    reason: "AuthUnknown",
    message: `Secret ${rootSecretName(cluster)} could not be read: ${why}`,
  };
}

function no(reason: Verdict["reason"], message: string): Verdict {
  return { status: "False", reason, message };
}

/** The last answer of etcd, or the previous status while it cannot be queried. */
export function authStatus(snapshot: ClusterSnapshot): Pick<EtcdClusterStatus, "auth"> {
  const { cluster } = snapshot;
  const { enabled } = stateOf(snapshot) ?? cluster.status?.auth ?? {};
  // Authentication is off, and spec.auth is not set: nothing to report.
  if (enabled === undefined || (!enabled && isAuthWanted(cluster.spec) === undefined)) return {};
  const state = stateOf(snapshot);
  const operators = state === undefined ? (cluster.status?.auth?.operators ?? []) : [...recordedUsers(snapshot, state)];
  const unmanaged = snapshot.auth?.unmanaged ?? cluster.status?.auth?.unmanaged ?? {};
  return {
    auth: {
      enabled,
      ...(operators.length === 0 ? {} : { operators }),
      ...(Object.keys(unmanaged).length === 0 ? {} : { unmanaged }),
    },
  };
}
