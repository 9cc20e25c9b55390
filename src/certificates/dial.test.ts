import { inspect } from "node:util";
import { expect, test } from "vitest";
import { CLIENT_SCHEME_ANNOTATION } from "#api/names.ts";
import { endpointAt, endpointOf, type Identities, noIdentities } from "#certificates/dial.ts";
import { pod } from "#kit/snapshots/cluster.ts";
import type { Pod } from "#kube/kinds.ts";

/** The pod of the second member. */
function member(change: { annotations?: Record<string, string>; podIP?: string } = {}): Pod {
  const { podIP = "10.0.0.7", annotations } = change;
  const given = pod("my-etcd-1", { ready: true });
  return {
    ...given,
    metadata: { ...given.metadata, annotations: { ...given.metadata.annotations, ...annotations } },
    // As in the cache of pods, which keeps nothing of the spec but the host name.
    spec: { hostname: "my-etcd-1" } as Pod["spec"] & object,
    status: { ...given.status, podIP },
  };
}

const HTTPS = { annotations: { [CLIENT_SCHEME_ANNOTATION]: "https" } };
const IDENTITY = { ca: "CA", cert: "CERT", key: "KEY", secretName: "my-etcd-operator-tls" };
const asked: unknown[] = [];
const identities: Identities = {
  identityOf: (cluster) => {
    asked.push(cluster);
    return IDENTITY;
  },
};

test("a pod without the https annotation is dialled without TLS although a client certificate is known", () => {
  expect(endpointOf(member(), identities)).toEqual({ is: "present", value: { address: "10.0.0.7:2379" } });
});

test("a pod with TLS is dialled at its address under its own name, with the cluster's client certificate", () => {
  asked.length = 0;
  const endpoint = endpointOf(member(HTTPS), identities);
  if (endpoint.is !== "present") throw new Error("no endpoint");
  expect(endpoint.value.address).toBe("10.0.0.7:2379");
  const { ca, cert, key, serverName, secretName } = endpoint.value.tls!;
  expect({ ca, cert, key, secretName }).toEqual(IDENTITY);
  expect(serverName).toBe("my-etcd-1.my-etcd.foo.svc");
  expect(asked).toEqual([{ namespace: "foo", name: "my-etcd" }]);
});

test("a pod with TLS has no endpoint while the client certificate is unknown", () => {
  expect(endpointOf(member(HTTPS), noIdentities)).toEqual({
    is: "unknown",
    why: "10.0.0.7:2379 requires TLS, and the operator has not read its client certificate for this cluster yet",
  });
});

test("a failed pod has no endpoint", () => {
  const given = member(HTTPS);
  expect(endpointOf({ ...given, status: { ...given.status, phase: "Failed" } }, identities).is).toBe("absent");
});

test("endpoints with the same certificate and name share one TLS object, so that connections are reused", () => {
  const tlsOf = (given: Identities, podIP?: string) => {
    const endpoint = endpointOf(member({ ...HTTPS, ...(podIP === undefined ? {} : { podIP }) }), given);
    return endpoint.is === "present" ? endpoint.value.tls : undefined;
  };
  expect(tlsOf(identities)).toBe(tlsOf(identities, "10.0.0.8"));
  expect(tlsOf({ identityOf: () => ({ ...IDENTITY }) })).not.toBe(tlsOf(identities));
});

test("members behind a Service are dialled with TLS under the name of the Service", () => {
  const service = (given: Pod | undefined) => endpointAt("10.96.0.1:2379", given, "my-etcd-client.foo.svc", identities);
  expect(service(member())).toEqual({ is: "present", value: { address: "10.96.0.1:2379" } });
  expect(service(undefined)).toEqual({ is: "present", value: { address: "10.96.0.1:2379" } });
  expect(service(member(HTTPS))).toMatchObject({ value: { tls: { serverName: "my-etcd-client.foo.svc" } } });
});

test("printing an endpoint shows no key", () => {
  const endpoint = endpointOf(member(HTTPS), identities);
  for (const text of [JSON.stringify(endpoint), inspect(endpoint, { depth: 9, showHidden: true, getters: false })])
    expect(text).not.toMatch(/KEY|CERT/);
});
