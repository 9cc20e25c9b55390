import { TLS_ROLE } from "#api/names.ts";
import { type MissingRight, missingRight } from "#kube/error.ts";

/** Resources that the ClusterRole for Secrets grants, by group. */
const OF_TLS: Readonly<Record<string, readonly string[]>> = {
  "": ["secrets", "configmaps"],
  "cert-manager.io": ["certificates"],
};

/**
 * Which right of the ClusterRole for Secrets the operator lacks in a namespace, and the command that grants it;
 * `undefined` for any other error.
 * @param why message of the API server
 */
export function missingRightText(why: string): string | undefined {
  const right = missingRight(why);
  if (right === undefined || !isOfTls(right)) return undefined;
  const { account, verb, resource, group, namespace } = right;
  const kind = group === "" ? resource : `${resource}.${group}`;
  const command = `kubectl create rolebinding ${TLS_ROLE} --namespace ${namespace} --clusterrole ${TLS_ROLE} ${subject(account)}`;
  return `the operator may not ${verb} ${kind} in namespace ${namespace}; an administrator grants it with: ${command}`;
}

function isOfTls({ resource, group }: MissingRight): boolean {
  return OF_TLS[group]?.includes(resource) === true;
}

/** The option of kubectl that names the account. */
function subject(account: string): string {
  const [, serviceAccount] = /^system:serviceaccount:([^:]+:[^:]+)$/.exec(account) ?? [];
  return serviceAccount === undefined ? `--user ${account}` : `--serviceaccount ${serviceAccount}`;
}
