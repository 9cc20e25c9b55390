import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ETCD_REPOSITORY, OPERATOR } from "#api/names.ts";
import { createCluster, deployOperator, namespacesIn, repositoriesIn, withGiven } from "./deploy.ts";
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

/** One line about an applied object: with replicas and arguments of a Deployment, and with repositories of a policy. */
function appliedText({ kind, metadata: { namespace = "", name }, spec }: Applied): string {
  const known = [...JSON.stringify(spec ?? {}).matchAll(/each[.]image[.]startsWith\('([^']*):v'\)/g)];
  if (known.length > 0) return `apply ${kind} ${namespace}/${name} ${known.map(([, each]) => each).join(" ")}`;
  const more = kind === "Deployment" ? ` ${spec?.replicas} ${spec?.template?.spec.containers[0]?.args.join(" ")}` : "";
  return `apply ${kind} ${namespace}/${name}${more}`;
}

/** An existing installation: names as `kubectl get -o name` prints them, and the Deployment. */
interface Installed {
  readonly roles?: readonly string[];
  readonly deployment?: object;
}

/** Deploys to a fake Kubernetes with these namespaces. @returns all changes, in order */
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

describe("installing the operator", () => {
  test("binds the role for Secrets only in the named namespaces, and creates missing ones first", async () => {
    const done = await deployed(["default", "shop"], ["shop", "billing", "billing"]);
    expect(done).toEqual(expect.arrayContaining([bound("shop"), bound("billing"), NO_MORE]));
    expect(done).not.toContain(EVERYWHERE);
    expect(done.filter((each) => each.startsWith("create namespace"))).toEqual(["create namespace billing"]);
    expect(done.indexOf("create namespace billing")).toBeLessThan(done.indexOf(bound("billing")));
  });

  test("grants Secrets everywhere when no namespaces are named, and creates none", async () => {
    const done = await deployed(["default"]);
    expect(done).toContain(EVERYWHERE);
    expect(done.filter((each) => /create namespace|RoleBinding (shop|default)/.test(each))).toEqual([]);
    expect(done).not.toContain(NO_MORE);
  });

  const ROLE = "clusterrole.rbac.authorization.k8s.io/etcd-cluster-operator-tls";
  const BINDING = "clusterrolebinding.rbac.authorization.k8s.io/etcd-cluster-operator-tls";

  test("keeps existing grants of Secrets when an upgrade names no namespaces", async () => {
    const some = await deployed(["default"], undefined, { roles: [ROLE, "clusterrole.rbac.authorization.k8s.io/x"] });
    expect(some).not.toContain(EVERYWHERE);
    expect(await deployed(["default"], undefined, { roles: [ROLE, BINDING] })).toContain(EVERYWHERE);
    expect(await deployed(["default"], undefined, { roles: ["clusterrole.rbac.authorization.k8s.io/x"] })).toContain(
      EVERYWHERE,
    );
  });

  test("keeps replicas and flags that people have set in an upgrade, and updates its own flags", () => {
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

  test("applies the Deployment with the replicas and flags that people have set", async () => {
    const deployment = { spec: { replicas: 3, template: { spec: { containers: [{ args: ["--shards=3"] }] } } } };
    const words = (done: readonly string[]) => done.filter((each) => each.startsWith("apply Deployment"));
    expect(words(await deployed([], undefined, { deployment }))).toEqual([
      expect.stringMatching(/^apply Deployment .* 3 --http-port.* --shards=3$/),
    ]);
    expect(words(await deployed([]))).toEqual([expect.stringMatching(/^apply Deployment .* 2 --http-port.*=8443$/)]);
  });

  test.each([["--etcd-repository=registry.example/etcd"], ["--etcd-repository", "registry.example/etcd"]])(
    "keeps the repository of an installation in the policy, as its Deployment does: %s %s",
    async (...args) => {
      const deployment = { spec: { template: { spec: { containers: [{ args: ["--shards=3", ...args] }] } } } };
      const done = await deployed([], undefined, { deployment });
      expect(done).toContain(`apply ValidatingAdmissionPolicy /${OPERATOR} registry.example/etcd`);
      expect(done).toEqual(
        expect.arrayContaining([
          expect.stringMatching(/^apply Deployment .* --etcd-repository=registry.example\/etcd /),
        ]),
      );
    },
  );

  test("names etcd's own repository in the policy of a new installation", async () => {
    expect(await deployed([])).toContain(`apply ValidatingAdmissionPolicy /${OPERATOR} ${ETCD_REPOSITORY}`);
  });

  test.each([
    ["shop", ["shop"]],
    ["shop,billing", ["shop", "billing"]],
    ["shop, billing", ["shop", "billing"]],
  ])("accepts the namespaces %s", (text, names) => {
    expect(namespacesIn(text)).toEqual(names);
  });

  test.each([
    ["", ""],
    ["shop,", ""],
    ["Shop", "Shop"],
    ["shop billing", "shop billing"],
    ["-n", "-n"],
  ])("refuses the namespaces %j with an error that quotes the invalid name", (text, wrong) => {
    expect(() => namespacesIn(text)).toThrow(
      `--secrets-of has "${wrong}"; it must be names of namespaces with commas between them, such as shop,billing`,
    );
  });

  test.each([
    ["registry.example/etcd", ["registry.example/etcd"]],
    ["[2001:db8::1]:5000/etcd,Registry.example/etcd", ["[2001:db8::1]:5000/etcd", "Registry.example/etcd"]],
    ["localhost:5000/a/etcd, gcr.io/etcd-development/etcd", ["localhost:5000/a/etcd", "gcr.io/etcd-development/etcd"]],
  ])("accepts the repositories %s", (text, repositories) => {
    expect(repositoriesIn(text)).toEqual(repositories);
  });

  test.each([
    ["", ""],
    ["registry.example/etcd,", ""],
    ["registry.example/etcd:v3.6.16", "registry.example/etcd:v3.6.16"],
    ["registry.example/etcd@sha256:ab", "registry.example/etcd@sha256:ab"],
    ["etcd", "etcd"],
    ["a/b') || ('", "a/b') || ('"],
  ])("refuses the repositories %j with an error that quotes the invalid one", (text, wrong) => {
    expect(() => repositoriesIn(text)).toThrow(`--etcd-repositories has "${wrong}"; it must be images without tag`);
  });
});

/** Creates the example in a fake Kubernetes with this EtcdCluster, or none. @returns the result, and all changes */
async function demonstrated(there?: object) {
  const done: string[] = [];
  const kubectl = {
    run: (args: readonly string[], options: { input?: string } = {}) => {
      done.push([...args, ...(options.input === undefined ? [] : [options.input])].join(" "));
      const stdout = args.includes("get") && there !== undefined ? JSON.stringify(there) : "";
      return Promise.resolve({ code: 0, stdout, stderr: "" });
    },
    json: () => Promise.resolve({ status: { conditions: [{ type: "Ready", status: "True", message: "" }] } }),
  };
  const file = join(import.meta.dirname, "../examples/quickstart.yaml");
  const made = await createCluster(kubectl as unknown as Kubectl, file, silentStep, ["-n", "shop"]);
  return { made, changes: done.filter((each) => !each.includes(" get ")) };
}

describe("the example of npm start", () => {
  test("is created when there is none of its name, with a label that marks it", async () => {
    const { made, changes } = await demonstrated();
    expect(made).toEqual({ name: "my-etcd", isOurs: true });
    expect(changes).toEqual([
      expect.stringMatching(/^-n shop create -f - .*"labels":\{"app.kubernetes.io\/created-by":"npm-start"\}/),
    ]);
  });

  test("is not changed when npm start created it before: a second run removes no members", async () => {
    const { made, changes } = await demonstrated({
      metadata: { name: "my-etcd", labels: { "app.kubernetes.io/created-by": "npm-start" } },
      spec: { replicas: 5 },
    });
    expect(made).toEqual({ name: "my-etcd", isOurs: true });
    expect(changes).toEqual([]);
  });

  test.each([{}, { labels: {} }, { labels: { "app.kubernetes.io/created-by": "helm" } }])(
    "does not change an EtcdCluster that a user created: %j",
    async (metadata) => {
      const { made, changes } = await demonstrated({
        metadata: { name: "my-etcd", ...metadata },
        spec: { replicas: 5 },
      });
      expect(made).toEqual({ name: "my-etcd", isOurs: false });
      expect(changes).toEqual([]);
    },
  );
});
