import { Component, type ReactNode } from "react";
import { reasonOf } from "../api/problem";

interface Props {
  children: ReactNode;
  /** What to show in its place. */
  fallback: (reason: string, again: () => void) => ReactNode;
}

/** Keeps a fault where it happened: one message that cannot be drawn must not take the page with it. */
export class Boundary extends Component<Props, { error: unknown }> {
  override state: { error: unknown } = { error: null };

  static getDerivedStateFromError(error: unknown) {
    return { error: error ?? new Error("unknown") };
  }

  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return this.props.fallback(reasonOf(error), () => this.setState({ error: null }));
  }
}
