import { describe, expect, test } from "vitest";
import { deployOperator, namespacesIn } from "./deploy.ts";
import type { Kubectl } from "./kubectl.ts";
import { silentStep } from "./progress.ts";

interface Applied {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** A Kubernetes that has these namespaces. @returns what was done to it, in order */
async function deployed(there: readonly string[], secretsOf?: readonly string[]): Promise<readonly string[]> {
  const done: string[] = [];
  const kubectl = {
    run: (args: readonly string[]) => {
      done.push(args.join(" "));
      return Promise.resolve({ code: 0, stdout: "", stderr: "" });
    },
    apply: (objects: readonly Applied[]) => {
      done.push(...objects.map(({ kind, metadata: { namespace = "", name } }) => `apply ${kind} ${namespace}/${name}`));
      return Promise.resolve();
    },
    json: () => Promise.resolve({ items: there.map((name) => ({ metadata: { name } })) }),
  };
  await deployOperator(kubectl as unknown as Kubectl, "image", silentStep, secretsOf);
  return done;
}

const EVERYWHERE = "apply ClusterRoleBinding /etcd-cluster-operator-tls";
const NO_MORE = "delete clusterrolebinding etcd-cluster-operator-tls --ignore-not-found";
const bound = (namespace: string) => `apply RoleBinding ${namespace}/etcd-cluster-operator-tls`;

describe("an install that grants Secrets in some namespaces", () => {
  test("binds the role there, and nowhere else, and makes the namespaces that are missing before", async () => {
    const done = await deployed(["default", "shop"], ["shop", "billing", "billing"]);
    expect(done).toEqual(expect.arrayContaining([bound("shop"), bound("billing"), NO_MORE]));
    expect(done).not.toContain(EVERYWHERE);
    expect(done.filter((each) => each.startsWith("create namespace"))).toEqual(["create namespace billing"]);
    expect(done.indexOf("create namespace billing")).toBeLessThan(done.indexOf(bound("billing")));
  });

  test("without names it is granted everywhere, and no namespace of others is made", async () => {
    const done = await deployed(["default"]);
    expect(done).toContain(EVERYWHERE);
    expect(done.filter((each) => /create namespace|RoleBinding (shop|default)/.test(each))).toEqual([]);
    expect(done).not.toContain(NO_MORE);
  });

  test.each([
    ["shop", ["shop"]],
    ["shop,billing", ["shop", "billing"]],
    ["shop, billing", ["shop", "billing"]],
  ])("takes %s", (text, names) => {
    expect(namespacesIn(text)).toEqual(names);
  });

  test.each([
    ["", ""],
    ["shop,", ""],
    ["Shop", "Shop"],
    ["shop billing", "shop billing"],
    ["-n", "-n"],
  ])("says of %j what it has to be", (text, wrong) => {
    expect(() => namespacesIn(text)).toThrow(
      `--secrets-of has "${wrong}"; it must be names of namespaces with commas between them, such as shop,billing`,
    );
  });
});
