/** A table of `facts/`, as it was read. */
export interface Table {
  readonly value: unknown;
  /** Where something stands, by the names that lead to it: `data/facts/expectations.yaml:17`; in a package without the line. */
  placeOf(path: readonly string[]): string;
}

export function verbs(): Table;
export function doctorChecks(): Table;
export function expectations(): Table;
export function kubernetesPage(): Table;
export function quirks(): Table;
export function knownFaults(): Table;
export function apiFields(): Table;
export function apiRoutes(): Table;
export function kubeProxyFlags(): Table;
export function flanneldFlags(): Table;
export function kubeProxyGates(): Table;
export function kubeColumns(): Table;
export function kubeProtobuf(): Table;
export function ovnNorthbound(): Table;
export function ovnSouthbound(): Table;
export function errorCalls(): Table;
export function furtherKinds(): Table;
export function ovnLanguage(): Table;
export function hresults(): Table;
export function removedVersions(): Table;
export function profiles(): Table;
export function hnsApi(): Table;
export function hnsOperations(): Table;
export function objectShapes(): Table;
export function v1Policies(): Table;
export function networkTypes(): Table;
