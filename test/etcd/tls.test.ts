import assert from "node:assert/strict";
import { afterAll, beforeAll, describe, test } from "vitest";
import { hasCode } from "#base/error.ts";
import type { CallOptions } from "#etcd/client.ts";
import type { Endpoint, TlsIdentity } from "#etcd/endpoint.ts";
import { type Authority, flagFiles, newAuthority } from "#kit/etcd/authority.ts";
import { ETCD_VERSIONS, neverAborted, planEtcd, type RunningEtcd, until } from "#kit/etcd/etcd.ts";

const options: CallOptions = { signal: neverAborted };
/** Matches the error of an unavailable member with this cause. */
function unavailable(why: RegExp) {
  return (thrown: unknown) => {
    assert.ok(hasCode(thrown, "EtcdUnavailable"));
    assert.match(thrown.message, why);
    return true;
  };
}
const SERVER_NAME = "db-0.db.prod.svc";

describe.each(ETCD_VERSIONS)("etcd %s over TLS with client certificates", (version) => {
  let etcd: RunningEtcd;
  let tls: TlsIdentity;
  let ours: Authority;
  let stranger: Authority;
  let endpoint: (change?: Partial<TlsIdentity>) => Endpoint;

  beforeAll(async () => {
    const authority = await newAuthority();
    ours = authority;
    stranger = await newAuthority();
    const server = await authority.issue(SERVER_NAME);
    const secretName = "ours";
    tls = { ca: authority.pem, ...(await authority.issue("operator")), serverName: SERVER_NAME, secretName };
    etcd = await planEtcd({ version, members: 1 });
    const member = etcd.members[0]!;
    const address = member.endpoint.address;
    endpoint = (change = {}) => ({ address, tls: { ...tls, ...change } });
    await member.start({ initialCluster: etcd.initialCluster, state: "new" }, [
      `--listen-client-urls=https://${address}`,
      `--advertise-client-urls=https://${address}`,
      "--client-cert-auth",
      ...flagFiles(`${member.plan.dir}-tls`, {
        "trusted-ca-file": authority.pem,
        "cert-file": server.cert,
        "key-file": server.key,
      }),
    ]);
    await until("the member is ready", async () => (await member.httpStatus("/health")) === 200);
  });
  afterAll(() => etcd.stop());

  test("the operator connects to the member's IP address and verifies its DNS name", async () => {
    assert.equal((await etcd.client.status(endpoint(), options)).version, version);
    const revision = await etcd.client.put(endpoint(), "k", "v", options);
    assert.equal((await etcd.client.get(endpoint(), "k", options))?.modRevision, revision);
  });

  test("two trusted CAs at once are accepted, as during a rotation", async () => {
    await etcd.client.status(endpoint({ ca: stranger.pem + tls.ca }), options);
  });

  test("a server certificate for another name is rejected", async () => {
    const why = /its certificate is not for this name: .*db-1.*DNS:db-0/;
    await assert.rejects(etcd.client.status(endpoint({ serverName: "db-1.db.prod.svc" }), options), unavailable(why));
  });

  test("a server certificate of another CA is rejected", async () => {
    const why = /its certificate is not signed by a CA that is trusted here \(ca\.crt of Secret ours\)/;
    await assert.rejects(etcd.client.status(endpoint({ ca: stranger.pem }), options), unavailable(why));
  });

  test("the member rejects a client certificate of another CA", async () => {
    const theirs = await stranger.issue("operator");
    const why = /the server rejects our certificate \(Secret ours\): .*(unknown ca|bad certificate)/;
    await assert.rejects(etcd.client.status(endpoint(theirs), options), unavailable(why));
  });

  test("an expired client certificate and a mismatched key are reported with their cause", async () => {
    const expired = await ours.issue("operator", { untilMs: Date.now() - 60_000 });
    const late = /the server rejects our certificate \(Secret ours\): .*expired/;
    await assert.rejects(etcd.client.status(endpoint(expired), options), unavailable(late));
    const { key } = await stranger.issue("operator");
    const half = /our certificate \(Secret ours\), its key or our CA bundle cannot be used/;
    await assert.rejects(etcd.client.status(endpoint({ key }), options), unavailable(half));
  });

  test("the health service at the client port can be reached only with TLS, a trusted certificate and the right server name", async () => {
    assert.deepEqual(await etcd.client.serves(endpoint(), options), { is: "present", value: true });
    const refused = await etcd.client.serves(endpoint(await stranger.issue("operator")), options);
    assert.match(refused.is === "unknown" ? refused.why : "", /the server rejects our certificate \(Secret ours\)/);
    const another = await etcd.client.serves(endpoint({ serverName: "db-1.db.prod.svc" }), options);
    assert.match(another.is === "unknown" ? another.why : "", /not for this name/);
    const { address } = endpoint();
    assert.equal((await etcd.client.serves({ address }, options)).is, "unknown");
  });

  test("a client without TLS gets no answer", async () => {
    const { address } = endpoint();
    await assert.rejects(etcd.client.status({ address }, { ...options, deadlineMs: 1_000 }), unavailable(/./));
  });
});
