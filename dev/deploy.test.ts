import { describe, expect, test } from "vitest";
import { deployOperator, namespacesIn, withGiven } from "./deploy.ts";
import type { Kubectl } from "./kubectl.ts";
import { silentStep } from "./progress.ts";

interface Applied {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec?: {
    readonly replicas?: number;
    readonly template?: { readonly spec: { readonly containers: readonly { readonly args: readonly string[] }[] } };
  };
}

/** Of the Deployment with its replicas and arguments. */
function appliedText({ kind, metadata: { namespace = "", name }, spec }: Applied): string {
  const more = kind === "Deployment" ? ` ${spec?.replicas} ${spec?.template?.spec.containers[0]?.args.join(" ")}` : "";
  return `apply ${kind} ${namespace}/${name}${more}`;
}

/** What is installed by then: names as `kubectl get -o name` prints them, and the Deployment. */
interface Installed {
  readonly roles?: readonly string[];
  readonly deployment?: object;
}

/** A Kubernetes that has these namespaces. @returns what was done to it, in order */
async function deployed(
  there: readonly string[],
  secretsOf?: readonly string[],
  { roles = [], deployment }: Installed = {},
): Promise<readonly string[]> {
  const done: string[] = [];
  const kubectl = {
    run: (args: readonly string[]) => {
      done.push(args.join(" "));
      return Promise.resolve({ code: 0, stdout: `${roles.join("\n")}\n`, stderr: "" });
    },
    apply: (objects: readonly Applied[]) => {
      done.push(...objects.map(appliedText));
      return Promise.resolve();
    },
    json: (args: readonly string[]) =>
      Promise.resolve({
        items: args.includes("deployments")
          ? [deployment].filter((each) => each !== undefined)
          : there.map((name) => ({ metadata: { name } })),
      }),
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

  const ROLE = "clusterrole.rbac.authorization.k8s.io/etcd-cluster-operator-tls";
  const BINDING = "clusterrolebinding.rbac.authorization.k8s.io/etcd-cluster-operator-tls";

  test("an upgrade without names goes on with what was granted, here or everywhere", async () => {
    const some = await deployed(["default"], undefined, { roles: [ROLE, "clusterrole.rbac.authorization.k8s.io/x"] });
    expect(some).not.toContain(EVERYWHERE);
    expect(await deployed(["default"], undefined, { roles: [ROLE, BINDING] })).toContain(EVERYWHERE);
    expect(await deployed(["default"], undefined, { roles: ["clusterrole.rbac.authorization.k8s.io/x"] })).toContain(
      EVERYWHERE,
    );
  });

  test("an upgrade goes on with the replicas and the flags that people have given, and with its own as they are by now", () => {
    const of = (replicas: number, args: readonly string[]) => ({
      kind: "Deployment",
      spec: { replicas, template: { spec: { containers: [{ name: "operator", image: "new", args }] } } },
    });
    const now = of(3, ["--http-port=1", "--shards=3"]);
    expect(withGiven(of(2, ["--http-port=8080"]), now)).toEqual(of(3, ["--http-port=8080", "--shards=3"]));
    expect(withGiven(of(2, ["--http-port=8080"]), undefined)).toEqual(of(2, ["--http-port=8080"]));
    const inTwoWords = of(0, ["--http-port", "1", "--shards", "3", "--quiet"]);
    expect(withGiven(of(2, ["--http-port=8080"]), inTwoWords)).toEqual(
      of(2, ["--http-port=8080", "--shards", "3", "--quiet"]),
    );
    const service = { kind: "Service", spec: {} };
    expect(withGiven(service, now)).toBe(service);
  });

  test("which is what is applied", async () => {
    const deployment = { spec: { replicas: 3, template: { spec: { containers: [{ args: ["--shards=3"] }] } } } };
    const words = (done: readonly string[]) => done.filter((each) => each.startsWith("apply Deployment"));
    expect(words(await deployed([], undefined, { deployment }))).toEqual([
      expect.stringMatching(/^apply Deployment .* 3 --http-port.* --shards=3$/),
    ]);
    expect(words(await deployed([]))).toEqual([expect.stringMatching(/^apply Deployment .* 2 --http-port.*=8443$/)]);
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
