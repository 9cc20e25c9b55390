/**
 * A policy in CEL that the API server evaluates, and its binding to all that it matches (Kubernetes 1.30 or later).
 * @param action what happens to a request that a validation does not accept
 */
export function admissionPolicyNamed(
  name: string,
  labels: Readonly<Record<string, string>>,
  spec: object,
  action: "Deny" | "Warn" = "Deny",
) {
  const apiVersion = "admissionregistration.k8s.io/v1";
  const metadata = { name, labels };
  const binding = { policyName: name, validationActions: [action] };
  return [
    // A policy that cannot be evaluated must refuse requests.
    { apiVersion, kind: "ValidatingAdmissionPolicy", metadata, spec: { failurePolicy: "Fail", ...spec } },
    { apiVersion, kind: "ValidatingAdmissionPolicyBinding", metadata, spec: binding },
  ];
}
