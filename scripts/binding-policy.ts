import { BINDING_TYPE, bindingCertificateName, bindingName, GROUP, USER_LABEL } from "#api/names.ts";
import { ETCD_ROLES } from "#api/v1beta1/role.ts";
import { ETCD_USERS } from "#api/v1beta1/user.ts";
import type { Named, Validation } from "./admission-policy.ts";

// Limits what the operator writes for EtcdUsers: a Secret for each, and a Certificate when cert-manager issues. Name,
// owner and type are fixed, as for objects of EtcdClusters. Of EtcdRoles and EtcdUsers it changes only finalizers.

/** Whether the object belongs to the EtcdUser of its label and has its name, in CEL. */
function isOfUser(object: "object" | "oldObject", name: (user: string) => string): string {
  const labels = object === "object" ? "variables.labels" : "variables.oldLabels";
  const user = `${labels}[?'${USER_LABEL}'].orValue('')`;
  return (
    `(${object}.metadata.name == ${user} + '${name("")}'` +
    ` && ${object}.metadata.?ownerReferences.orValue([]).exists(each, each.?controller.orValue(false) && each.kind == '${ETCD_USERS.kind}'` +
    ` && each.apiVersion.startsWith('${GROUP}/') && each.name == ${user}))`
  );
}

/**
 * Whether the object is of an EtcdUser both before and after the request, in CEL: no other object may be taken over.
 */
function staysOfUser(name: (user: string) => string): string {
  return `!variables.deletes && ${isOfUser("object", name)} && (variables.creates || ${isOfUser("oldObject", name)})`;
}

export const BINDING_VARIABLES: readonly Named[] = [
  { name: "isBinding", expression: `variables.resource == 'secrets' && ${staysOfUser(bindingName)}` },
  { name: "isOfBinding", expression: `variables.resource == 'certificates' && ${staysOfUser(bindingCertificateName)}` },
  {
    name: "changesAccess",
    expression: `variables.resource in ['${ETCD_ROLES.plural}', '${ETCD_USERS.plural}'] && variables.updates`,
  },
];

/** Whether a created Secret has the type of a binding, in CEL. */
export const isBindingType = `(variables.isBinding && object.?type.orValue('') == '${BINDING_TYPE}')`;

const METADATA = ["labels", "annotations", "ownerReferences"];

export const BINDING_VALIDATIONS: readonly Validation[] = [
  {
    expression: `!variables.changesAccess || (object.spec == oldObject.spec && ${METADATA.map((field) => `object.metadata.?${field} == oldObject.metadata.?${field}`).join(" && ")})`,
    message: `of an ${ETCD_ROLES.kind} or ${ETCD_USERS.kind} the operator changes only its finalizers`,
  },
];
