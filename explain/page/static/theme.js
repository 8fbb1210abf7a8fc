// Before the page is painted: light or dark as was chosen, if it was.
try {
  const theme = localStorage.getItem('theme');
  if (theme) document.documentElement.dataset.theme = theme;
} catch { /* storage is off: the system's choice stands */ }
