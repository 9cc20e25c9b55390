import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { asOperatorError, OperatorError } from "#base/error.ts";
import { createLog } from "#base/log.ts";
import { endpointOf } from "#certificates/dial.ts";
import { factsOf } from "#certificates/facts.ts";
import { Keyring } from "#certificates/keyring.ts";
import { authority, dataOf, leaf, secretOf } from "#kit/certificates.ts";
import { KubeClient } from "#kube/client.ts";
import { type Pod, SECRETS } from "#kube/kinds.ts";
import { TransportError } from "#kube/transport.ts";

// What an error that nobody catches prints is all that it refers to. Nothing of it may be a key.

const ca = await authority();
const pair = await leaf(ca);
const data = dataOf(pair, ca.certificate);
const secret = secretOf("my-etcd-operator-tls", data);
/** What is nobody else's of the key, as a text and as a Secret has it. */
const NEEDLES = [...pair.key.trim().split("\n").slice(2, -1), Buffer.from(pair.key).toString("base64").slice(120, 200)];

/** As the API server writes it, cut off. */
const CUT = JSON.stringify({ kind: secret.kind, apiVersion: "v1", metadata: secret.metadata, data: secret.data }).slice(
  0,
  -9,
);

/** All that could be printed of it: what Node prints when it crashes, and more. */
function printed(thing: unknown): string {
  const crash = inspect(thing);
  const all = inspect(thing, { depth: null, showHidden: true, maxStringLength: null, getters: true });
  return [crash, all, JSON.stringify(thing), `${thing}`].join("\n");
}

/** The report that Node writes of a process that dies, where it is asked for. */
function reported(error?: Error): string {
  const report = process.report.getReport(error) as object;
  return `${JSON.stringify(report)}\n${inspect(report, { depth: null, maxStringLength: null })}`.replaceAll(
    "\\n",
    "\n",
  );
}

function tells(text: string): boolean {
  return NEEDLES.some((needle) => text.includes(needle));
}

test("a key would be found", () => {
  expect(NEEDLES.length).toBeGreaterThan(1);
  expect(tells(CUT)).toBe(true);
  for (const thing of [data, secret, new Error("a", { cause: secret })]) expect(tells(printed(thing))).toBe(true);
});

describe("no key is printed of", () => {
  const keyring = new Keyring();
  keyring.learn({ namespace: "foo", name: "my-etcd" }, secret);

  test("what the operator connects with, and an error that refers to it", () => {
    const identity = keyring.identityOf({ namespace: "foo", name: "my-etcd" });
    expect(identity?.key).toBe(pair.key);
    for (const thing of [keyring, identity, new OperatorError("Bug", "a", { cause: identity })])
      expect([inspect(thing), JSON.stringify(thing), `${thing}`].some(tells)).toBe(false);
  });

  test("what Node reports of the process while the keyring is full, whatever error it reports", () => {
    const identity = keyring.identityOf({ namespace: "foo", name: "my-etcd" });
    expect(identity?.key).toBe(pair.key);
    const errors = [
      undefined,
      new OperatorError("Bug", "a", { cause: identity }),
      Object.assign(new Error("a"), { secret }),
    ];
    for (const error of errors) expect(tells(reported(error))).toBe(false);
    // What is in an error's message or in the environment stands in it: it is looked for where it would be.
    expect(tells(reported(new Error(pair.key)))).toBe(true);
  });

  test("where a member is dialled", () => {
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
    expect([inspect(endpoint, { depth: null }), JSON.stringify(endpoint)].some(tells)).toBe(false);
  });

  test("what is known of a Secret", () => expect(tells(printed(factsOf(secret, "leaf")))).toBe(false));

  test.each([
    [
      "is refused",
      { status: 422, header: () => undefined, text: () => Promise.resolve('{"kind":"Status","message":"no"}') },
    ],
    ["is answered with a part of it", { status: 201, header: () => undefined, text: () => Promise.resolve(CUT) }],
    ["breaks off", new TransportError(new Error("socket hang up"), true)],
  ])("a write of a Secret that %s, nor of the log line of it", async (_, outcome) => {
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
    expect(tells(printed(thrown) + line)).toBe(false);
  });
});
