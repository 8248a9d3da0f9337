"""The round over records of several views: norms over views, one space or a space each."""
