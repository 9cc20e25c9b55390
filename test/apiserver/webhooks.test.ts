import { type ChildProcess, spawn } from "node:child_process";
import { request } from "node:https";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import {
  CLAIM_CLUSTER_TOKEN_ANNOTATION,
  CLUSTER_ADMISSION,
  MANAGED_BY_LABEL,
  memberLabels,
  OPERATOR,
  WEBHOOKS,
} from "#api/names.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { systemClock } from "#base/clock.ts";
import { asOperatorError } from "#base/error.ts";
import { type ApiServer, startApiServer } from "#kit/servers/apiserver.ts";
import { install, leadAdmission, type Served, serve } from "#kit/servers/webhooks-apiserver.ts";
import { claimIdentity } from "#kit/snapshots/cluster.ts";
import { NAMESPACES } from "#kit/tables/kinds.ts";
import { PLAIN, SIDECAR, WHOLE_TEMPLATE } from "#kit/tables/pod-power.ts";
import { KubeClient } from "#kube/client.ts";
import { kubeconfigFile } from "#kube/config.ts";
import {
  type Draft,
  PERSISTENT_VOLUME_CLAIMS,
  REPLICA_SETS,
  resource,
  SECRETS,
  VALIDATING_WEBHOOK_CONFIGURATIONS,
} from "#kube/kinds.ts";
import { httpTransport } from "#kube/transport.ts";
import { trustedBy } from "#webhooks/certificate/bundle.ts";
import { webhookHost } from "#webhooks/certificate/keeper.ts";
import { crdManifests, OPERATOR_NAMESPACE, operatorManifests } from "../../scripts/manifests.ts";

// A real API server calls the real webhooks, as in the shipped manifests. The Service points to this machine.

const OPTIONS = { signal: new AbortController().signal };
const DAY_MS = 86_400_000;
const namespace = "foo";

let server: ApiServer;
let admin: KubeClient;
let operator: KubeClient;

beforeAll(async () => {
  server = await startApiServer();
  admin = server.client;
  operator = await server.clientFor("operator");
  await admin.create(NAMESPACES, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }, OPTIONS);
  for (const manifest of operatorManifests("operator:test")) await install(admin, manifest);
});
afterAll(async () => await server?.stop());

async function trusted(): Promise<readonly string[]> {
  const { webhooks } = await admin.get(VALIDATING_WEBHOOK_CONFIGURATIONS, { name: OPERATOR }, OPTIONS);
  return trustedBy(webhooks![0]!.clientConfig);
}

/** Warnings and the refusal, as a person sees them. */
interface Said {
  readonly warnings: readonly string[];
  readonly refusal: string | undefined;
}

/** Writes like a person. */
class Person {
  readonly #client: KubeClient;
  #warnings: string | undefined;

  constructor(client: KubeClient) {
    this.#client = client;
  }

  static async with(kubeconfig: string): Promise<Person> {
    const config = await kubeconfigFile(kubeconfig);
    const inner = httpTransport(config);
    const person: Person = new Person(
      new KubeClient({
        config,
        userAgent: "person",
        transport: {
          send: async (sent) => {
            const answer = await inner.send(sent);
            person.#warnings = answer.header("warning");
            return answer;
          },
          close: () => inner.close(),
        },
      }),
    );
    return person;
  }

  async create(name: string, spec: object): Promise<Said> {
    return await this.#said(this.#client.create(ETCD_CLUSTERS, cluster(name, spec), OPTIONS));
  }

  async patch(name: string, patch: object): Promise<Said> {
    const ref = { namespace, name };
    return await this.#said(this.#client.patch(ETCD_CLUSTERS, ref, patch, { ...OPTIONS, type: "merge" }));
  }

  /** Scales like `kubectl scale`. */
  async scale(name: string, replicas: number): Promise<Said> {
    const options = { ...OPTIONS, type: "merge", subresource: "scale" } as const;
    return await this.#said(this.#client.patch(ETCD_CLUSTERS, { namespace, name }, { spec: { replicas } }, options));
  }

  async #said(done: Promise<unknown>): Promise<Said> {
    const refusal = await done.then(
      () => undefined,
      (thrown) => asOperatorError(thrown).message,
    );
    const warnings = [...(this.#warnings ?? "").matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)];
    return { warnings: warnings.map(([, text = ""]) => text.replaceAll(/\\(.)/g, "$1")), refusal };
  }

  async close(): Promise<void> {
    await this.#client.close();
  }
}

function cluster(name: string, spec: object): Draft<EtcdCluster> {
  const draft = { apiVersion: "etcd.improbable.io/v1beta1", kind: "EtcdCluster", metadata: { namespace, name }, spec };
  return draft as unknown as Draft<EtcdCluster>;
}

const AMPLE = { requests: { cpu: "1", memory: "2Gi" } };
const UNCOMPACTED = { autoCompaction: { mode: "None" } };
const GOOD = { replicas: 3, version: "3.6.16", etcd: UNCOMPACTED, podTemplate: template(AMPLE) };

/** A pod template with these resources of etcd's container. */
function template(resources: object, spec: object = {}): object {
  return { spec: { ...spec, containers: [{ name: "etcd", resources }] } };
}

/** A pod template with a further container, or with further fields of etcd's container. */
function beside(container: { readonly name: string; readonly [field: string]: unknown }): object {
  const { name } = container;
  return { spec: { containers: [...(name === "etcd" ? [] : [{ name: "etcd", resources: AMPLE }]), container] } };
}

/** The answer to a write without warnings and without refusal. */
const SILENCE: Said = { warnings: [], refusal: undefined };

describe("a process of the operator", () => {
  const PROGRAM = join(import.meta.dirname, "../../src/bin/operator.ts");
  const processes: ChildProcess[] = [];
  afterEach(async () => {
    for (const child of processes.splice(0)) {
      child.kill("SIGKILL");
      await new Promise((resolve) =>
        child.exitCode === null && child.signalCode === null ? child.once("exit", resolve) : resolve(0),
      );
    }
  });

  /** Starts a process with the shipped rights. @returns its log so far */
  function startOperator(): () => string {
    const flags = [
      "--http-port=0",
      "--webhook-port=0",
      "--metrics-port=0",
      `--operator-namespace=${OPERATOR_NAMESPACE}`,
    ];
    const args = [PROGRAM, "--kubeconfig", server.kubeconfigFor("operator"), ...flags];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
    processes.push(child);
    let log = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => (log += bytes));
    return () => log;
  }

  /** The port in a line of the log. */
  function addressIn(log: string, message: string): number {
    const line = log.split("\n").find((each) => each.includes(message));
    return Number(/"address":":(\d+)"/.exec(line ?? "")?.[1]);
  }

  async function healthz(port: number): Promise<string> {
    const ca = await trusted();
    return await new Promise((resolve, reject) => {
      const options = {
        host: "127.0.0.1",
        port,
        servername: webhookHost(OPERATOR_NAMESPACE),
        ca: [...ca],
        path: "/healthz",
      };
      request({ ...options, agent: false }, (answer) => {
        let body = "";
        answer.on("data", (bytes) => (body += bytes)).on("end", () => resolve(body));
      })
        .on("error", reject)
        .end();
    });
  }

  test("serves webhooks before its caches are filled and without the lease, and becomes ready", async () => {
    // The definitions of EtcdClusters are not installed yet, so no cache of them can be filled.
    const logs = [startOperator(), startOperator()];
    for (const log of logs) {
      await vi.waitFor(() => expect(log()).toContain("the webhooks use a new certificate"), { timeout: 30_000 });
      const port = addressIn(log(), "serves webhooks");
      await vi.waitFor(async () => expect(await healthz(port)).toBe("ok\n"), { timeout: 60_000 });
      expect(log()).not.toContain("this process leads");
      const readyz = async () => await (await fetch(`http://127.0.0.1:${addressIn(log(), "started")}/readyz`)).text();
      expect(await readyz()).toContain("[+]webhooks ok");
      await vi.waitFor(async () => expect(await readyz()).not.toContain("[-]"), { timeout: 60_000, interval: 500 });
      expect(log()).not.toMatch(/PRIVATE KEY|LS0tLS1/);
    }
    // Both processes serve the certificate of the same Secret.
    const secret = await admin.get(SECRETS, { namespace: OPERATOR_NAMESPACE, name: WEBHOOKS }, OPTIONS);
    expect(secret.metadata.labels).toEqual({ [MANAGED_BY_LABEL]: OPERATOR });
    expect(await trusted()).toHaveLength(1);
  });
});

describe("EtcdClusters", () => {
  let person: Person;
  let webhooks: Served;
  /** Error of the webhooks' clock. */
  let offMs: number;
  let number = 0;

  beforeAll(async () => {
    for (const crd of crdManifests()) await install(admin, crd);
    await vi.waitFor(() => admin.list(ETCD_CLUSTERS, { namespace }, OPTIONS), { timeout: 30_000 });
    person = await Person.with(server.kubeconfigFor("admin"));
  });
  afterAll(async () => await person?.close());

  beforeEach(() => {
    offMs = 0;
  });
  afterEach(async () => await webhooks.close());

  async function lead(failurePolicy: "Ignore" | "Fail" = "Ignore"): Promise<void> {
    webhooks = await serve(operator, () => offMs);
    await leadAdmission(admin, webhooks.port, failurePolicy);
    await isAsked();
  }

  /** Waits until the API server uses the changed configuration. */
  async function isAsked(): Promise<void> {
    const probe = async () =>
      expect((await person.create(`probe-${number++}`, { ...GOOD, replicas: 2 })).warnings).toHaveLength(1);
    await vi.waitFor(probe, { timeout: 30_000, interval: 200 });
    webhooks.asked.length = 0;
  }

  function named(): string {
    return `cluster-${number++}`;
  }

  const REFUSED = (name: string) =>
    `create etcdclusters.etcd.improbable.io ${namespace}/${name}: admission webhook "${CLUSTER_ADMISSION}" denied the request: `;

  const refusals: readonly { what: string; podTemplate: object; says: string }[] = [
    {
      what: "requests above the limits",
      podTemplate: template({ requests: { cpu: "2", memory: "2Gi" }, limits: { cpu: "1" } }),
      says: 'spec.podTemplate.spec.containers[etcd].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
    },
    {
      what: "an unknown resource",
      podTemplate: template({ requests: { ...AMPLE.requests, RAM: "1Gi" } }),
      says: 'spec.podTemplate.spec.containers[etcd].resources.requests[RAM]: Invalid value: "RAM": must be a standard resource type or fully qualified',
    },
    {
      what: "a misspelt field of the affinity",
      podTemplate: template(AMPLE, { affinity: { nodeAfinity: {} } }),
      says: "spec.podTemplate.spec.affinity.nodeAfinity: unknown field; a Pod has none of this name",
    },
    {
      what: "a field of the wrong type",
      podTemplate: template(AMPLE, { affinity: { nodeAffinity: "ssd" } }),
      says: "json: cannot unmarshal string into Go struct field Affinity.spec.podTemplate.spec.affinity.nodeAffinity of type v1.NodeAffinity",
    },
    {
      what: "an unknown operator of the affinity",
      podTemplate: template(AMPLE, {
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchExpressions: [{ key: "disk", operator: "Is", values: ["ssd"] }] }],
            },
          },
        },
      }),
      says: 'spec.podTemplate.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator',
    },
    {
      what: "a pod affinity without topologyKey",
      podTemplate: template(AMPLE, {
        affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector: {} }] } },
      }),
      says: "spec.podTemplate.spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Required value: can not be empty",
    },
    {
      what: "an annotation with an invalid key",
      podTemplate: { ...template(AMPLE), metadata: { annotations: { "not a key": "x" } } },
      says: 'spec.podTemplate.metadata.annotations: Invalid value: "not a key": name part must consist of',
    },
    {
      what: "a misspelt field of a sidecar",
      podTemplate: beside({ ...SIDECAR, imagePulPolicy: "Always" }),
      says: "spec.podTemplate.spec.containers[agent].imagePulPolicy: unknown field; a Pod has none of this name",
    },
    {
      what: "a sidecar without an image",
      podTemplate: beside({ ...PLAIN, name: "agent" }),
      says: "spec.podTemplate.spec.containers[agent].image: Required value",
    },
    {
      what: "a sidecar that mounts a missing volume",
      podTemplate: beside({ ...SIDECAR, volumeMounts: [{ name: "settings", mountPath: "/etc/agent" }] }),
      says: 'spec.podTemplate.spec.containers[agent].volumeMounts[/etc/agent].name: Not found: "settings"',
    },
    {
      what: "a sidecar with a field of the wrong type",
      podTemplate: beside({ ...SIDECAR, tty: "yes" }),
      says: "json: cannot unmarshal string into Go struct field Container.spec.podTemplate.spec.containers.tty of type bool",
    },
    {
      what: "an invalid variable of etcd's container",
      podTemplate: beside({ name: "etcd", resources: AMPLE, env: [{ name: "A=B", value: "x" }] }),
      says: 'spec.podTemplate.spec.containers[etcd].env[A=B].name: Invalid value: "A=B"',
    },
    {
      what: "a field that is the operator's own",
      podTemplate: beside({ name: "etcd", resources: AMPLE, command: ["sh"] }),
      says: "spec.podTemplate.spec.containers[0].command: is set; it must be left out: the operator starts etcd",
    },
    {
      what: "a Secret as volume",
      podTemplate: template(AMPLE, { volumes: [{ name: "x", secret: { secretName: "s" } }] }),
      says: "spec.podTemplate.spec.volumes[0].secret: is set; it must be configMap or downwardAPI or emptyDir or ephemeral or persistentVolumeClaim or projected instead: the operator may not hand out Secrets",
    },
  ];

  test("with an invalid pod template are refused with the API server's message and the user's field names", async () => {
    await lead();
    for (const { what, podTemplate, says } of refusals) {
      const name = named();
      const { refusal } = await person.create(name, { replicas: 3, version: "3.6.16", podTemplate });
      expect(refusal, what).toContain(REFUSED(name));
      expect(refusal, what).toContain(says);
      expect((await admin.find(ETCD_CLUSTERS, { namespace, name }, OPTIONS)).is, what).toBe("absent");
    }
    expect(webhooks.asked).toEqual(refusals.map(() => "/admission/etcdclusters 200"));
    // None of them has been created.
    expect((await admin.list(REPLICA_SETS, { namespace }, OPTIONS)).items).toEqual([]);
  });

  test("with several errors are refused with all of them", async () => {
    await lead();
    const resources = { requests: { cpu: "2" }, limits: { cpu: "1", RAM: "1Gi" } };
    const { refusal } = await person.create(named(), {
      replicas: 3,
      version: "3.6.16",
      podTemplate: template(resources),
    });
    expect(refusal).toContain("spec.podTemplate.spec.containers[etcd].resources.requests: Invalid value");
    expect(refusal).toContain("; spec.podTemplate.spec.containers[etcd].resources.limits[RAM]: Invalid value");
  });

  test("that are valid are created without a warning, also with everything that a pod template may have", async () => {
    await lead();
    webhooks.logged.length = 0;
    expect(await person.create(named(), GOOD)).toEqual(SILENCE);
    expect(webhooks.logged).toEqual([]); // the dry run was complete
    const term = { matchExpressions: [{ key: "disk", operator: "In", values: ["ssd"] }] };
    const resources = { requests: { cpu: "500m", memory: "2Gi" }, limits: { memory: "4Gi", "hugepages-2Mi": "4Mi" } };
    const affinity = {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } },
    };
    const podTemplate = {
      metadata: { annotations: { "example.com/team": "storage" } },
      ...template(resources, { affinity }),
    };
    expect(await person.create(named(), { replicas: 5, version: "3.5.21", etcd: UNCOMPACTED, podTemplate })).toEqual(
      SILENCE,
    );
    const name = named();
    expect(await person.create(name, { ...GOOD, podTemplate: WHOLE_TEMPLATE })).toEqual(SILENCE);
    expect((await admin.get(ETCD_CLUSTERS, { namespace, name }, OPTIONS)).spec.podTemplate).toEqual(WHOLE_TEMPLATE);
    expect(webhooks.logged).toEqual([]);
  });

  test("with flags unknown to the release are refused, and other edits of them are not", async () => {
    await lead();
    const name = named();
    const given = (flags: object) => ({ ...GOOD, etcd: { ...UNCOMPACTED, extraArgs: flags } });
    const { refusal } = await person.create(name, given({ "max-txn-op": "1" }));
    expect(refusal).toContain(
      `${REFUSED(name)}spec.etcd.extraArgs: "max-txn-op" is not a flag of etcd 3.6; did you mean max-txn-ops?`,
    );
    expect(await person.create(name, given({ "max-txn-ops": "256" }))).toEqual(SILENCE);
    expect((await person.patch(name, { spec: { etcd: { extraArgs: { "data-dir": "/x" } } } })).refusal).toContain(
      'spec.etcd.extraArgs: "data-dir" ',
    );
    expect(await person.patch(name, { spec: { replicas: 5 } })).toEqual(SILENCE);
  });

  test("with valid but risky settings are created with warnings", async () => {
    await lead();
    const name = named();
    const { warnings, refusal } = await person.create(name, {
      replicas: 2,
      version: "3.6.16",
      podTemplate: template({ limits: { memory: "1Gi" } }),
    });
    expect(refusal).toBeUndefined();
    expect(warnings).toEqual([
      "spec.replicas is 2: it tolerates the loss of no more members than 1, and writes wait for one more; use an odd number",
      "spec.podTemplate.spec.containers[etcd].resources.requests has no cpu: on a busy node members are slowed down or evicted first, and etcd loses its leader",
      "spec.podTemplate.spec.containers[etcd].resources.limits.memory is 1Gi: etcd's database may grow to its quota of 2Gi, and members that need more memory are killed; use 2Gi or more",
      expect.stringMatching(/^spec\.etcd\.autoCompaction is missing: .* or to None if clients compact$/),
    ]);
    const values = ["a", "b"];
    const inTwo = { matchExpressions: [{ key: "topology.kubernetes.io/zone", operator: "In", values }] };
    const affinity = {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [inTwo] } },
    };
    expect((await person.create(named(), { ...GOOD, podTemplate: template(AMPLE, { affinity }) })).warnings).toEqual([
      "spec.podTemplate.spec restricts members to two zones, a and b: the loss of one of them may lose the quorum; use three zones",
    ]);
    webhooks.asked.length = 0;
    expect(await person.patch(name, { metadata: { labels: { a: "b" } } })).toEqual(SILENCE);
    expect(webhooks.asked).toEqual([]); // an edit outside of the spec is not sent
    expect(await person.patch(name, { spec: { replicas: 3 } })).toEqual(SILENCE);
    expect((await person.patch(name, { spec: { replicas: 1 } })).warnings).toEqual([
      "spec.replicas is 1: each restart of the member is an outage, and the loss of its volume loses the data; use 3 or 5",
    ]);
  });

  test("get the same warnings when they are scaled by the scale subresource", async () => {
    await lead();
    const name = named();
    await person.create(name, GOOD);
    expect((await person.scale(name, 2)).warnings).toEqual([expect.stringMatching(/^spec\.replicas is 2: /)]);
    expect(await person.scale(name, 5)).toEqual(SILENCE);
    expect((await admin.get(ETCD_CLUSTERS, { namespace, name }, OPTIONS)).spec.replicas).toBe(5);
  });

  test("are refused while existing claims with their name do not clearly identify one cluster", async () => {
    await lead();
    const name = named();
    for (const [ordinal, id] of ["1d7f0a5bb4fdd2f0", "ffffffffffffffff"].entries()) {
      const metadata = {
        namespace,
        name: `${name}-${ordinal}`,
        labels: memberLabels(name, `${name}-${ordinal}`),
        annotations: {
          ...claimIdentity(id, `8e9e05c52164694${ordinal}`),
          [CLAIM_CLUSTER_TOKEN_ANNOTATION]: `${namespace}/${name}/uid-of-cluster`,
        },
      };
      const resources = { requests: { storage: "1Gi" } };
      const spec = { accessModes: ["ReadWriteOnce"], resources, volumeName: `volume-${ordinal}` };
      const kept = { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata, spec };
      await admin.create(PERSISTENT_VOLUME_CLAIMS, kept as never, OPTIONS);
    }
    const { refusal } = await person.create(name, GOOD);
    expect(refusal).toContain(
      `${REFUSED(name)}metadata.name: ${name} cannot be used: claims of an earlier cluster exist (${name}-0, ${name}-1) and are not overwritten: `,
    );
    expect(refusal).toContain("Delete those with data that is not needed, or choose another name");
    const ref = { namespace, name: `${name}-1` };
    const { metadata } = await admin.get(PERSISTENT_VOLUME_CLAIMS, ref, OPTIONS);
    await admin.patch(PERSISTENT_VOLUME_CLAIMS, ref, { metadata: { finalizers: null } }, { ...OPTIONS, type: "merge" });
    await admin.delete(PERSISTENT_VOLUME_CLAIMS, ref, { ...OPTIONS, preconditions: { uid: metadata.uid } });
    expect((await person.create(name, GOOD)).refusal).toBeUndefined();
  });

  test("are refused if they mount the claim of another cluster's member", async () => {
    await lead();
    const labels = memberLabels("other", "other-0");
    const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
    for (const metadata of [{ name: "other-0", labels }, { name: "files" }]) {
      const draft = { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { namespace, ...metadata }, spec };
      await admin.create(PERSISTENT_VOLUME_CLAIMS, draft as never, OPTIONS);
    }
    const mounting = (claimName: string) =>
      template(AMPLE, { volumes: [{ name: "more", persistentVolumeClaim: { claimName } }] });
    const name = named();
    const { refusal } = await person.create(name, { replicas: 3, version: "3.6.16", podTemplate: mounting("other-0") });
    expect(refusal).toContain(
      `${REFUSED(name)}spec.podTemplate.spec.volumes[0].persistentVolumeClaim.claimName: is "other-0"; it must be another claim: this one belongs to a member of other, `,
    );
    expect(await person.create(name, { ...GOOD, podTemplate: mounting("files") })).toEqual(SILENCE);
  });

  test("are admitted with a warning when another admission policy would refuse their members", async () => {
    const policy = {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: "somebody" },
      spec: {
        matchConstraints: {
          resourceRules: [
            { apiGroups: ["apps"], apiVersions: ["*"], resources: ["replicasets"], operations: ["CREATE"] },
          ],
        },
        validations: [{ expression: "false", message: "no ReplicaSets before noon" }],
      },
    };
    const binding = {
      apiVersion: policy.apiVersion,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name: "somebody" },
      spec: { policyName: "somebody", validationActions: ["Deny"] },
    };
    await lead();
    try {
      await install(admin, policy);
      await install(admin, binding);
      const probe = async () => {
        const { warnings, refusal } = await person.create(named(), GOOD);
        expect(refusal).toBeUndefined();
        expect(warnings).toEqual([
          expect.stringMatching(/^members could not be started at present: .*no ReplicaSets before noon/),
        ]);
      };
      await vi.waitFor(probe, { timeout: 30_000, interval: 200 });
    } finally {
      for (const kind of ["validatingadmissionpolicybindings", "validatingadmissionpolicies"]) {
        const of = resource({
          group: "admissionregistration.k8s.io",
          version: "v1",
          kind: "",
          plural: kind,
          namespaced: false,
        });
        const { metadata } = await admin.get(of, { name: "somebody" }, OPTIONS);
        await admin.delete(of, { name: "somebody" }, { ...OPTIONS, preconditions: { uid: metadata.uid } });
      }
    }
  });

  test("are admitted while no webhook answers, and still validated by the schema", async () => {
    await lead();
    const bad = { replicas: 3, version: "3.6.16", podTemplate: refusals[0]!.podTemplate };
    expect((await person.create(named(), bad)).refusal).toBeDefined();
    await webhooks.close();
    expect(await person.create(named(), bad)).toEqual(SILENCE);
    expect((await person.create(named(), { replicas: 9, version: "3.6.16" })).refusal).toContain("spec.replicas");
    await lead();
    expect((await person.create(named(), bad)).refusal).toBeDefined();
  });

  /** Edits without a pause; each fails if the webhook does not answer. @returns their number, and the failures */
  async function underLoad(work: () => Promise<void>): Promise<{ done: number; failed: string[] }> {
    const load = { done: 0, failed: [] as string[] };
    let isOver = false;
    const one = async () => {
      while (!isOver) {
        const { refusal } = await person.create(named(), GOOD);
        load.done++;
        if (refusal !== undefined) load.failed.push(refusal);
      }
    };
    const workers = [one(), one(), one()];
    try {
      await work();
    } finally {
      isOver = true;
      await Promise.all(workers);
    }
    return load;
  }

  const shownOften = () =>
    webhooks.logged.filter((line) => line.startsWith("the webhooks use a new certificate")).length;

  test("are checked without failed calls while certificate and CA are renewed", async () => {
    // The CA was issued so long ago that it is due today. The Secret of earlier tests is not valid yet and is replaced.
    offMs = -250 * DAY_MS;
    webhooks = await serve(operator, () => offMs);
    await vi.waitFor(() => expect(shownOften()).toBe(1), { timeout: 60_000 });
    offMs = -20 * DAY_MS;
    await vi.waitFor(() => expect(shownOften()).toBe(2), { timeout: 60_000 });
    await leadAdmission(admin, webhooks.port, "Fail");
    await isAsked();
    const before = await trusted();
    const load = await underLoad(async () => {
      offMs = 0;
      await vi.waitFor(() => expect(shownOften()).toBe(3), { timeout: 60_000 });
      await systemClock.sleep(1_000);
    });
    expect(load.failed).toEqual([]);
    expect(load.done).toBeGreaterThan(10);
    const after = await trusted();
    expect(after).toHaveLength(before.length + 1);
    expect(before).not.toContain(after[0]);
    expect(after.slice(1)).toEqual(before);
  }, 300_000);

  test("are checked without failed calls while the deleted webhook Secret is recreated", async () => {
    await lead("Fail");
    const before = await trusted();
    const load = await underLoad(async () => {
      const { metadata } = await admin.get(SECRETS, { namespace: OPERATOR_NAMESPACE, name: WEBHOOKS }, OPTIONS);
      await admin.delete(SECRETS, metadata, { ...OPTIONS, preconditions: { uid: metadata.uid } });
      await vi.waitFor(() => expect(shownOften()).toBe(2), { timeout: 30_000 });
      await systemClock.sleep(1_000);
    });
    expect(load.failed).toEqual([]);
    expect(load.done).toBeGreaterThan(10);
    const after = await trusted();
    expect(before).not.toContain(after[0]);
    expect(after).toContain(before[0]);
    expect(webhooks.logged.join("\n")).not.toMatch(/PRIVATE KEY|LS0tLS1/);
  }, 300_000);

  test("are checked again after a person has removed caBundle from the webhook configuration", async () => {
    await lead("Fail");
    const found = await admin.get(VALIDATING_WEBHOOK_CONFIGURATIONS, { name: OPERATOR }, OPTIONS);
    const [{ clientConfig, ...rest }] = found.webhooks as [NonNullable<typeof found.webhooks>[number]];
    const { caBundle: _, ...bare } = clientConfig;
    await admin.replace(
      VALIDATING_WEBHOOK_CONFIGURATIONS,
      { ...found, webhooks: [{ ...rest, clientConfig: bare }] },
      OPTIONS,
    );
    await vi.waitFor(async () => expect(await trusted()).not.toEqual([]), { timeout: 60_000 });
    await isAsked();
  });
});
