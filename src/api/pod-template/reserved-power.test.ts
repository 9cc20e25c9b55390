import { describe, expect, test } from "vitest";
import { whyNotTemplate } from "#api/pod-template/reserved.ts";
import { ALLOWED, CONFINED_OTHERWISE, FORBIDDEN, SIDECAR, UNCONFINED } from "#kit/tables/pod-power.ts";

// test/apiserver/admission-policy.test.ts checks the same cases against the policy that restricts the operator.

describe("a pod template may not grant members", () => {
  for (const { what, ...template } of [...FORBIDDEN, ...UNCONFINED])
    test(what, () =>
      expect(whyNotTemplate(template, "my-etcd")).toEqual([
        expect.stringMatching(/^spec\.podTemplate\.(spec|metadata)\..* /),
      ]),
    );
});

describe("a pod template may grant members", () => {
  for (const { what, ...template } of [...ALLOWED, ...CONFINED_OTHERWISE])
    test(what, () => expect(whyNotTemplate(template, "my-etcd")).toEqual([]));
});

const POD = "spec.podTemplate.spec";
const NOT = "the operator may not hand out";
const WHO = "the author of the EtcdCluster may lack the right to";
const KINDS = "configMap or downwardAPI or emptyDir or ephemeral or persistentVolumeClaim or projected";

const OUT = `the operator grants nothing that may lead out of a pod: ${WHO} use it`;

const sentences: readonly (readonly [spec: object, says: string])[] = [
  [
    { volumes: [{ name: "x", secret: { secretName: "s" } }] },
    `${POD}.volumes[0].secret is set; it must be ${KINDS} instead: ${NOT} Secrets: ${WHO} read them`,
  ],
  [
    { volumes: [{ name: "x", hostPath: { path: "/" } }] },
    `${POD}.volumes[0].hostPath is set; it must be ${KINDS} instead: ${NOT} what belongs to nodes: ${WHO} use it`,
  ],
  [
    { volumes: [{ name: "x", nfs: { server: "s", path: "/" } }] },
    `${POD}.volumes[0].nfs is set; it must be ${KINDS} instead: ${NOT} any other kind: ${WHO} use it`,
  ],
  [
    { volumes: [{ name: "x", projected: { sources: [{}, { serviceAccountToken: { path: "t" } }] } }] },
    `${POD}.volumes[0].projected.sources[1].serviceAccountToken is set; it must be clusterTrustBundle or configMap or downwardAPI instead: ${NOT} tokens of service accounts: ${WHO} use them`,
  ],
  [
    { volumes: [{ name: "x", ephemeral: { volumeClaimTemplate: { spec: { volumeName: "v" } } } }] },
    `${POD}.volumes[0].ephemeral.volumeClaimTemplate.spec.volumeName is "v"; it must be left out: ${NOT} volumes that are there: ${WHO} use them`,
  ],
  [
    { containers: [{ ...SIDECAR, env: [{ name: "S", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }] }] },
    `${POD}.containers[0].env[0].valueFrom.secretKeyRef is set; it must be configMapKeyRef or fieldRef or resourceFieldRef instead: ${NOT} Secrets: ${WHO} read them`,
  ],
  [
    { initContainers: [{ ...SIDECAR, envFrom: [{ secretRef: { name: "s" } }] }] },
    `${POD}.initContainers[0].envFrom[0].secretRef is set; it must be configMapRef instead: ${NOT} Secrets: ${WHO} read them`,
  ],
  [
    { priorityClassName: "system-node-critical" },
    `${POD}.priorityClassName is "system-node-critical"; it must not begin with "system-": ${NOT} priorities of Kubernetes' own components: ${WHO} push other pods off their nodes`,
  ],
  [
    { volumes: [{ name: "x", ephemeral: { volumeClaimTemplate: { spec: { selector: {} } } } }] },
    `${POD}.volumes[0].ephemeral.volumeClaimTemplate.spec.selector is set; it must be left out: ${NOT} volumes that are there: ${WHO} use them`,
  ],
  [
    { serviceAccountName: "admin" },
    `${POD}.serviceAccountName is "admin"; it must be "default" or left out: ${NOT} service accounts: ${WHO} use them`,
  ],
  [
    { automountServiceAccountToken: true },
    `${POD}.automountServiceAccountToken is true; it must be false or left out: ${NOT} tokens of service accounts: ${WHO} use them`,
  ],
  [
    { resourceClaims: [{ name: "d" }] },
    `${POD}.resourceClaims is set; it must be left out: ${NOT} devices: ${WHO} use them`,
  ],
  [
    { containers: [{ ...SIDECAR, ports: [{ containerPort: 80, hostPort: 80 }] }] },
    `${POD}.containers[0].ports[0].hostPort is 80; it must be 0 or left out: ${NOT} what belongs to nodes: ${WHO} use it`,
  ],
  [
    { containers: [{ name: "agent", image: "x", securityContext: { allowPrivilegeEscalation: true } }] },
    `${POD}.containers[0].securityContext.allowPrivilegeEscalation is true; it must be false or left out: ${NOT} privileges: ${WHO} have them`,
  ],
  [
    { containers: [{ name: "etcd", securityContext: null }] },
    `${POD}.containers[0].securityContext is null; it must be a map or left out: the operator adds to it`,
  ],
  [
    { containers: [{ name: "etcd", securityContext: { capabilities: { add: ["NET_ADMIN"] } } }] },
    `${POD}.containers[0].securityContext.capabilities.add is set; it must be left out: ${NOT} privileges: ${WHO} have them`,
  ],
  [
    { containers: [{ ...SIDECAR, lifecycle: { preStop: { httpGet: { host: "h" } } } }] },
    `${POD}.containers[0].lifecycle.preStop.httpGet.host is "h"; it must be left out: the kubelet connects from the node, and may connect only to the pod itself`,
  ],
  [
    { securityContext: { seccompProfile: { type: "Unconfined" } } },
    `${POD}.securityContext.seccompProfile.type is "Unconfined"; it must be "RuntimeDefault" or "Localhost" or left out: ${OUT}`,
  ],
  [
    { securityContext: { seLinuxOptions: { user: "u" } } },
    `${POD}.securityContext.seLinuxOptions.user is "u"; it must be "" or left out: ${OUT}`,
  ],
  [
    { securityContext: { windowsOptions: { hostProcess: true } } },
    `${POD}.securityContext.windowsOptions.hostProcess is true; it must be false or left out: ${OUT}`,
  ],
  [
    { securityContext: { sysctls: [{ name: "kernel.msgmax", value: "1" }] } },
    `${POD}.securityContext.sysctls[0].name is "kernel.msgmax"; it must be one of kernel.shm_rmid_forced, net.ipv4.ip_local_port_range, net.ipv4.ip_local_reserved_ports, net.ipv4.ip_unprivileged_port_start, net.ipv4.ping_group_range, net.ipv4.tcp_fin_timeout, net.ipv4.tcp_keepalive_intvl, net.ipv4.tcp_keepalive_probes, net.ipv4.tcp_keepalive_time, net.ipv4.tcp_rmem, net.ipv4.tcp_syncookies, net.ipv4.tcp_wmem: ${OUT}`,
  ],
];

describe("fields with privileges that the operator may not grant are refused with the message", () => {
  for (const [spec, says] of sentences) test(says, () => expect(whyNotTemplate({ spec }, "my-etcd")).toEqual([says]));
});

test("a privileged field that is null or zero is allowed", () => {
  const spec = {
    serviceAccountName: null,
    resourceClaims: null,
    volumes: [{ name: "x", secret: null, emptyDir: {} }],
    containers: [
      {
        ...SIDECAR,
        env: [{ name: "S", valueFrom: { secretKeyRef: null } }],
        lifecycle: null,
        ports: [{ hostPort: 0, containerPort: 1 }],
      },
    ],
  };
  expect(whyNotTemplate({ spec }, "my-etcd")).toEqual([]);
});

test("the deprecated annotation of AppArmor is refused with its allowed values", () => {
  const annotations = { "container.apparmor.security.beta.kubernetes.io/agent": "unconfined", other: "unconfined" };
  expect(whyNotTemplate({ metadata: { annotations } }, "my-etcd")).toEqual([
    `spec.podTemplate.metadata.annotations[container.apparmor.security.beta.kubernetes.io/agent] is "unconfined"; it must be "runtime/default" or begin with "localhost/" or be left out: ${OUT}`,
  ]);
});
