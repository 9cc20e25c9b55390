import { TLS_ROLE } from "#api/names.ts";
import { type MissingRight, missingRight } from "#kube/error.ts";

/** What is granted by the ClusterRole for Secrets, by group. */
const OF_TLS: Readonly<Record<string, readonly string[]>> = {
  "": ["secrets", "configmaps"],
  "cert-manager.io": ["certificates"],
};

/**
 * Which right of the ClusterRole for Secrets the operator lacks in a namespace, and the command that grants it; `undefined` when something else is
 * the matter.
 * @param why what the API server said
 */
export function missingRightText(why: string): string | undefined {
  const right = missingRight(why);
  if (right === undefined || !isOfTls(right)) return undefined;
  const { account, verb, resource, group, namespace } = right;
  const kind = group === "" ? resource : `${resource}.${group}`;
  const command = `kubectl create rolebinding ${TLS_ROLE} --namespace ${namespace} --clusterrole ${TLS_ROLE} ${subject(account)}`;
  return `the operator may not ${verb} ${kind} in namespace ${namespace}; who may grant that does so by: ${command}`;
}

function isOfTls({ resource, group }: MissingRight): boolean {
  return OF_TLS[group]?.includes(resource) === true;
}

/** As kubectl wants it. */
function subject(account: string): string {
  const [, serviceAccount] = /^system:serviceaccount:([^:]+:[^:]+)$/.exec(account) ?? [];
  return serviceAccount === undefined ? `--user ${account}` : `--serviceaccount ${serviceAccount}`;
}
