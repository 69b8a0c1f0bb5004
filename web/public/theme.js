// Before anything is drawn: the theme that a person chose for this browser, so that no page flashes in the other one.
try {
  const { theme } = JSON.parse(localStorage.getItem("holdstead:settings") ?? "{}");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage is off: the system's theme.
}
