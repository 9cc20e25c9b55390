import { ALLOW_DELETION_ANNOTATION, GROUP, OPERATOR } from "#api/names.ts";
import { CUSTOM_RESOURCE_DEFINITIONS } from "#kube/kinds.ts";
import { admissionPolicyNamed } from "./policy.ts";

// Why are the definitions protected?
//   Kubernetes deletes all objects of a kind with its definition: every EtcdCluster of every namespace, and with them
//   the members' pods. A policy cannot see whether objects exist, so it always asks for the annotation.

/** Name of the policy and its binding. */
export const DEFINITIONS_POLICY = `${OPERATOR}-definitions`;

export const NOT_DELETED = `deleting this definition would delete all objects of its kind in every namespace; if you want that, set the annotation ${ALLOW_DELETION_ANNOTATION}=true on it first`;

/** The policy and its binding. It applies to all accounts. */
export function definitionsPolicy(labels: Readonly<Record<string, string>>) {
  const { group, version, plural } = CUSTOM_RESOURCE_DEFINITIONS;
  return admissionPolicyNamed(DEFINITIONS_POLICY, labels, {
    matchConstraints: {
      resourceRules: [{ apiGroups: [group], apiVersions: [version], resources: [plural], operations: ["DELETE"] }],
    },
    matchConditions: [{ name: "own", expression: `oldObject.spec.group == '${GROUP}'` }],
    validations: [
      {
        expression: `oldObject.metadata.?annotations[?'${ALLOW_DELETION_ANNOTATION}'].orValue('') == 'true'`,
        message: NOT_DELETED,
        reason: "Forbidden",
      },
    ],
  });
}
