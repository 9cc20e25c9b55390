import { describe, expect, test } from "vitest";
import { missingRightText } from "#certificates/missing-right.ts";

const ACCOUNT = "system:serviceaccount:etcd-operator-system:etcd-cluster-operator";

/** A refusal in the words of RBAC. */
function refusal({ account = ACCOUNT, verb = "get", resource = "secrets", group = "", where = 'in the namespace "foo"' } = {}) {
  return `get ${resource} foo/x: ${resource} "x" is forbidden: User "${account}" cannot ${verb} resource "${resource}" in API group "${group}" ${where} (HTTP 403 Forbidden)`;
} // biome-ignore format: one line

const BIND =
  "kubectl create rolebinding etcd-cluster-operator-tls --namespace foo --clusterrole etcd-cluster-operator-tls";
const BY_OPERATOR = "--serviceaccount etcd-operator-system:etcd-cluster-operator";

describe("a right that the operator lacks in a cluster's namespace", () => {
  test.each([
    ["to read Secrets", refusal(), "get secrets", BY_OPERATOR],
    ["to create Secrets", refusal({ verb: "create" }), "create secrets", BY_OPERATOR],
    ["to publish CAs for clients", refusal({ resource: "configmaps" }), "get configmaps", BY_OPERATOR],
    [
      "to request certificates of cert-manager",
      refusal({ resource: "certificates", group: "cert-manager.io" }),
      "get certificates.cert-manager.io",
      BY_OPERATOR,
    ],
    ["of an operator outside of Kubernetes", refusal({ account: "me@example" }), "get secrets", "--user me@example"],
    ["of an account that only looks like a service account", refusal({ account: "system:serviceaccount:a" }), "get secrets", "--user system:serviceaccount:a"], // biome-ignore format: one line
  ])("%s is named, with the command that grants it", (_name, why, right, who) => {
    expect(missingRightText(why)).toBe(
      `the operator may not ${right} in namespace foo; an administrator grants it with: ${BIND} ${who}`,
    );
  });

  test.each([
    ["to read pods, which another ClusterRole grants,", refusal({ resource: "pods" })],
    ["to read Secrets of another API group", refusal({ group: "example.com" })],
    ["to read Secrets in all namespaces", refusal({ where: "at the cluster scope" })],
    ["in an error other than Forbidden", "get secrets foo/x: no answer within 10 s"],
  ])("%s is not reported", (_name, why) => {
    expect(missingRightText(why)).toBeUndefined();
  });
});
