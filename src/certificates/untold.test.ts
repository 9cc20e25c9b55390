import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { asOperatorError, OperatorError } from "#base/error.ts";
import { createLog } from "#base/log.ts";
import { endpointOf } from "#certificates/dial.ts";
import { factsOf } from "#certificates/facts.ts";
import { Keyring } from "#certificates/keyring.ts";
import { authority, dataOf, leaf, secretOf } from "#kit/snapshots/certificates.ts";
import { KubeClient } from "#kube/client.ts";
import { type Pod, SECRETS } from "#kube/kinds.ts";
import { TransportError } from "#kube/transport.ts";

// An uncaught error is printed with all objects that it refers to. None of that may be a key.

const ca = await authority();
const pair = await leaf(ca);
const data = dataOf(pair, ca.certificate);
const secret = secretOf("my-etcd-operator-tls", data);
/** Parts that only the key contains, as a text and as a Secret encodes them. */
const NEEDLES = [...pair.key.trim().split("\n").slice(2, -1), Buffer.from(pair.key).toString("base64").slice(120, 200)];

/** A response of the API server, cut off. */
const CUT = JSON.stringify({ kind: secret.kind, apiVersion: "v1", metadata: secret.metadata, data: secret.data }).slice(
  0,
  -9,
);

/** Everything that could be printed of a value: what Node prints when it crashes, and more. */
function printed(thing: unknown): string {
  const crash = inspect(thing);
  const all = inspect(thing, { depth: null, showHidden: true, maxStringLength: null, getters: true });
  return [crash, all, JSON.stringify(thing), `${thing}`].join("\n");
}

/** Node's diagnostic report of a crashing process. */
function reported(error?: Error): string {
  const report = process.report.getReport(error) as object;
  return `${JSON.stringify(report)}\n${inspect(report, { depth: null, maxStringLength: null })}`.replaceAll(
    "\\n",
    "\n",
  );
}

function reveals(text: string): boolean {
  return NEEDLES.some((needle) => text.includes(needle));
}

test("this test finds the key in objects and texts that have it", () => {
  expect(NEEDLES.length).toBeGreaterThan(1);
  expect(reveals(CUT)).toBe(true);
  for (const thing of [data, secret, new Error("a", { cause: secret })]) expect(reveals(printed(thing))).toBe(true);
});

describe("no key is printed with", () => {
  const keyring = new Keyring();
  keyring.learn({ namespace: "foo", name: "my-etcd" }, secret);

  test("the client certificate or an error that refers to it", () => {
    const identity = keyring.identityOf({ namespace: "foo", name: "my-etcd" });
    expect(identity?.key).toBe(pair.key);
    for (const thing of [keyring, identity, new OperatorError("Bug", "a", { cause: identity })])
      expect([inspect(thing), JSON.stringify(thing), `${thing}`].some(reveals)).toBe(false);
  });

  test("Node's diagnostic report of an error while a keyring has a key", () => {
    const identity = keyring.identityOf({ namespace: "foo", name: "my-etcd" });
    expect(identity?.key).toBe(pair.key);
    const errors = [
      undefined,
      new OperatorError("Bug", "a", { cause: identity }),
      Object.assign(new Error("a"), { secret }),
    ];
    for (const error of errors) expect(reveals(reported(error))).toBe(false);
    // An error's message and the environment are part of the report, so a key there would be found.
    expect(reveals(reported(new Error(pair.key)))).toBe(true);
  });

  test("the endpoint of a member", () => {
    const pod = {
      metadata: {
        namespace: "foo",
        name: "my-etcd-0-abcde",
        labels: { "etcd.improbable.io/cluster-name": "my-etcd" },
        annotations: { "etcd.improbable.io/client-scheme": "https" },
      },
      spec: { hostname: "my-etcd-0" },
      status: { podIP: "10.0.0.1", containerStatuses: [{ name: "etcd", state: { running: {} } }] },
    } as unknown as Pod;
    const endpoint = endpointOf(pod, keyring);
    if (endpoint.is !== "present") throw new Error(`it is ${endpoint.is}`);
    expect(endpoint.value.tls?.key).toBe(pair.key);
    expect([inspect(endpoint, { depth: null }), JSON.stringify(endpoint)].some(reveals)).toBe(false);
  });

  test("the facts of a Secret", () => expect(reveals(printed(factsOf(secret, "leaf")))).toBe(false));

  test.each([
    [
      "is rejected with an error",
      { status: 422, header: () => undefined, text: () => Promise.resolve('{"kind":"Status","message":"no"}') },
    ],
    ["gets part of the Secret as response", { status: 201, header: () => undefined, text: () => Promise.resolve(CUT) }],
    ["loses its connection", new TransportError(new Error("socket hang up"), true)],
  ])("the error and the log line of a Secret's write that %s", async (_, outcome) => {
    const send = () => (outcome instanceof Error ? Promise.reject(outcome) : Promise.resolve(outcome));
    const transport = { send, close: () => Promise.resolve() };
    const config = { server: "https://127.0.0.1:1", credentials: {} };
    const kube = new KubeClient({ config, userAgent: "test", transport } as never);
    const { metadata, ...rest } = secret;
    const draft = { ...rest, metadata: { namespace: "foo", name: metadata.name } };
    const thrown = await kube.create(SECRETS, draft, { signal: new AbortController().signal }).catch((e: unknown) => e);
    const error = asOperatorError(thrown);
    expect(error.code).toMatch(/^Kube/);
    let line = "";
    const write = (text: string): void => {
      line += text;
    };
    createLog("info", { write }).error({ error: error.message }, "a");
    expect(line).toContain(error.message.slice(0, 20));
    expect(reveals(printed(thrown) + line)).toBe(false);
  });
});
