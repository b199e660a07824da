/** placeholder, replaced by the branch emu */
export interface DeploymentSettings {
  readonly [name: string]: unknown;
}
