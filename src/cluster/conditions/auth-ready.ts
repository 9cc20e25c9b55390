import { isAuthWanted } from "#api/auth.ts";
import { ROOT, rootSecretName } from "#api/names.ts";
import { isAsleep } from "#api/sleep.ts";
import type { EtcdCluster, EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import { missingRightText } from "#certificates/missing-right.ts";
import { hindranceOf, stateOf } from "#cluster/auth/hindrance.ts";
import { isAdministrator, recordedUsers } from "#cluster/auth/users.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { Case, Verdict } from "./verdict.ts";

const RULES = new Set(["root-secret", "root-password", "administrators", "switch-auth"]);

/** Does etcd ask for users, or not, as the spec says? It is told once somebody has asked for users, and while etcd asks for them. */
export function authReady({ snapshot, plan }: Pick<Case, "snapshot" | "plan">): Verdict | undefined {
  const { cluster, auth } = snapshot;
  const wanted = isAuthWanted(cluster.spec);
  // Nobody is asked who sleeps: what was said last stays.
  if (cluster.metadata.deletionTimestamp !== undefined || isAsleep(cluster)) return undefined;
  if (wanted === undefined && cluster.status?.auth === undefined) return forgotten(cluster);
  const hindrance = hindranceOf(snapshot);
  const state = stateOf(snapshot);
  const refused = plan.aside?.find(({ rule, is }) => RULES.has(rule) && is === "refused");
  if (refused !== undefined) return no("StepRefused", `${refused.rule}: ${refused.because}`);
  if (hindrance !== undefined || state === undefined) {
    const { reason, message } = hindrance ?? { reason: "AuthUnknown", message: "etcd did not tell" };
    return { status: reason === "AuthUnknown" ? "Unknown" : "False", reason, message };
  }
  if (wanted === undefined)
    return state.enabled
      ? no("AuthUnasked", "etcd asks for users, and spec.auth is left out; set spec.auth.enabled to true or false")
      : { status: "True", reason: "AuthDisabled", message: "etcd asks nobody who it is" };
  if (wanted && auth?.rootSecret.is === "unknown") return unread(cluster.metadata.name, auth.rootSecret.why);
  if (state.enabled !== wanted)
    return no("AuthPending", wanted ? "etcd is about to ask for users" : "etcd is about to ask for users no more");
  if (!wanted)
    return { status: "True", reason: "AuthDisabled", message: "etcd asks nobody who it is; users and roles stay" };
  const isWhole = isAdministrator(state) && state.root?.includes(ROOT) === true && state.isRootsPassword;
  if (!isWhole || auth?.rootSecret.is !== "present")
    return no("AuthPending", `etcd asks for users; of the operator or ${ROOT} something is about to be put right`);
  const message = `etcd asks for users; the operator is ${auth.user}, and the password of ${ROOT} is in Secret ${auth.rootSecret.value.name}`;
  return { status: "True", reason: "AuthEnabled", message };
}

/** Nobody asks for users any more, and etcd was not seen to: what was told before would be told for ever. */
function forgotten({ status }: EtcdCluster): Verdict | undefined {
  const told = status?.conditions?.find(({ type }) => type === "AuthReady");
  if (told === undefined || told.reason === "AuthDisabled") return undefined;
  const message = "spec.auth is left out, and nothing says that etcd asks for users";
  return { status: "True", reason: "AuthDisabled", message };
}

/** @param why in the API server's words */
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

/** etcd's own last word; what it was before, while it cannot be asked. */
export function authStatus(snapshot: ClusterSnapshot): Pick<EtcdClusterStatus, "auth"> {
  const { cluster } = snapshot;
  const { enabled } = stateOf(snapshot) ?? cluster.status?.auth ?? {};
  // Nobody asks for users, and nobody has to: there is nothing to tell.
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
