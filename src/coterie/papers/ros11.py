"""x"""

ITEMS = ()
