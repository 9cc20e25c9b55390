import assert from "node:assert/strict";
import { afterAll, beforeAll, describe, test } from "vitest";
import { hasCode } from "#base/error.ts";
import type { CallOptions } from "#etcd/client.ts";
import type { Endpoint, TlsIdentity } from "#etcd/endpoint.ts";
import { type Authority, flagFiles, newAuthority } from "#kit/authority.ts";
import { ETCD_VERSIONS, neverAborted, planEtcd, type RunningEtcd, until } from "#kit/etcd.ts";

const options: CallOptions = { signal: neverAborted };
const unavailable = (thrown: unknown) => hasCode(thrown, "EtcdUnavailable");
const SERVER_NAME = "db-0.db.prod.svc";

describe.each(ETCD_VERSIONS)("etcd %s over TLS with client certificates", (version) => {
  let etcd: RunningEtcd;
  let tls: TlsIdentity;
  let stranger: Authority;
  let endpoint: (change?: Partial<TlsIdentity>) => Endpoint;

  beforeAll(async () => {
    const authority = await newAuthority();
    stranger = await newAuthority();
    const server = await authority.issue(SERVER_NAME);
    tls = { ca: authority.pem, ...(await authority.issue("operator")), serverName: SERVER_NAME };
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

  test("the member is reached at its IP address under its DNS name", async () => {
    assert.equal((await etcd.client.status(endpoint(), options)).version, version);
    const revision = await etcd.client.put(endpoint(), "k", "v", options);
    assert.equal((await etcd.client.get(endpoint(), "k", options))?.modRevision, revision);
  });

  test("two authorities may be trusted at once, as during a rotation", async () => {
    await etcd.client.status(endpoint({ ca: stranger.pem + tls.ca }), options);
  });

  test("a certificate for another name is not believed", async () => {
    await assert.rejects(etcd.client.status(endpoint({ serverName: "db-1.db.prod.svc" }), options), unavailable);
  });

  test("a certificate of another authority is not believed", async () => {
    await assert.rejects(etcd.client.status(endpoint({ ca: stranger.pem }), options), unavailable);
  });

  test("the member does not take our certificate from another authority", async () => {
    await assert.rejects(etcd.client.status(endpoint(await stranger.issue("operator")), options), unavailable);
  });

  test("without TLS there is no answer", async () => {
    const { address } = endpoint();
    await assert.rejects(etcd.client.status({ address }, { ...options, deadlineMs: 1_000 }), unavailable);
  });
});
