export function GrantsPage() {
  return <main />;
}
