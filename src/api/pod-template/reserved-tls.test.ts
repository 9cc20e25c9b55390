import { describe, expect, test } from "vitest";
import { whyNotTemplate } from "#api/pod-template/reserved.ts";

function etcd(part: object) {
  return { spec: { containers: [{ name: "etcd", ...part }] } };
}

const refused = [
  {
    given: { spec: { shareProcessNamespace: true } },
    says: "spec.podTemplate.spec.shareProcessNamespace is true; it must be false or left out: with shared processes other containers could read the member's keys",
  },
  {
    given: { spec: { volumes: [{ name: "etcd-peer-tls", emptyDir: {} }] } },
    says: 'spec.podTemplate.spec.volumes[0].name is "etcd-peer-tls"; it must be a different name: this volume holds the member\'s certificates',
  },
  {
    given: {
      spec: {
        containers: [{ name: "agent", image: "x", volumeMounts: [{ name: "etcd-client-tls", mountPath: "/a" }] }],
      },
    },
    says: 'spec.podTemplate.spec.containers[0].volumeMounts[0].name is "etcd-client-tls"; it must be a different name: only etcd reads the member\'s keys',
  },
  {
    given: {
      spec: { initContainers: [{ name: "a", image: "x", volumeMounts: [{ name: "etcd-peer-tls", mountPath: "/a" }] }] },
    },
    says: 'spec.podTemplate.spec.initContainers[0].volumeMounts[0].name is "etcd-peer-tls"; it must be a different name: only etcd reads the member\'s keys',
  },
  ...["/etc", "/etc/etcd", "/etc/etcd/tls", "/etc/etcd/tls/peer", "//etc/./etcd/tls/../tls/x", "/"].map(
    (mountPath) => ({
      given: etcd({ volumeMounts: [{ name: "settings", mountPath }] }),
      says: `spec.podTemplate.spec.containers[0].volumeMounts[0].mountPath is ${JSON.stringify(mountPath)}; it must not be /etc/etcd/tls, nor above or below it: the member's certificates are there`,
    }),
  ),
  {
    given: etcd({ env: [{ name: "ETCDCTL_ENDPOINTS", value: "x" }] }),
    says: 'spec.podTemplate.spec.containers[0].env[0].name is "ETCDCTL_ENDPOINTS"; it must not begin with ETCDCTL_: the startup probe asks etcd with etcdctl, which takes such a variable for a flag',
  },
  {
    given: etcd({ envFrom: [{ prefix: "ETCDC", configMapRef: { name: "x" } }] }),
    says: 'spec.podTemplate.spec.containers[0].envFrom[0].prefix is "ETCDC"; it must be a prefix such as APP_: no variable may begin with ETCDCTL_, which the startup probe\'s etcdctl reads as flags',
  },
];

describe("with TLS a pod template is refused with the message", () => {
  for (const { given, says } of refused)
    test(says, () => expect(whyNotTemplate(given, "my-etcd", true)).toContain(says));
});

test.each([
  { spec: { shareProcessNamespace: false } },
  { spec: { shareProcessNamespace: null } },
  etcd({ volumeMounts: [{ name: "settings", mountPath: "/etc/etcdtls" }] }),
  etcd({ volumeMounts: [{ name: "settings", mountPath: "/etc/etcd/tlsx" }] }),
  etcd({ env: [{ name: "ETCDCT", value: "x" }] }),
  etcd({ envFrom: [{ prefix: "APP_", configMapRef: { name: "x" } }] }),
  {
    spec: {
      containers: [
        {
          name: "agent",
          image: "x",
          env: [{ name: "ETCDCTL_ENDPOINTS", value: "x" }],
          volumeMounts: [{ name: "own", mountPath: "/etc/etcd/tls" }],
        },
      ],
    },
  },
])("with TLS a template may have %j", (given) => expect(whyNotTemplate(given, "my-etcd", true)).toEqual([]));

test("without TLS all but one of these fields are allowed", () => {
  const free = refused.filter(({ given }) => whyNotTemplate(given, "my-etcd").length === 0);
  // "/" is above the data, too.
  expect(free).toHaveLength(refused.length - 1);
});
