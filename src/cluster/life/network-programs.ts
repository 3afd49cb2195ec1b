/** Programs that make the network of a node anew after it has come up: flanneld, or those of ovn-kubernetes. */
export interface NetworkPrograms {
  /** As the node's service manager does. */
  startOn(node: string): Promise<void>;
  /** Ends them on a node; what they have made stays. */
  stopOn(node: string): void;
  /** Takes from a Linux machine what only its kernel had. */
  forgetKernelState(node: string): void;
  /** The machine's clock is ahead by so much more. */
  moveClock(node: string, byMs: number): void;
}
